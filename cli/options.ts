import { BACKENDS } from './backend.ts';
import { WORLD_COMMANDS } from './options-world.ts';

/**
 * The command line as one typed table: parsing, help, completions and docs/cli.md are made of it.
 */
export interface OptionSpec {
  readonly kind: 'flag' | 'integer' | 'span' | 'text' | 'path' | 'choice';
  /** A single letter. */
  readonly short?: string;
  /** What the value is called, for kinds other than `flag`. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** May stand several times. */
  readonly repeat?: boolean;
  readonly help: string;
}

/** What a positional argument stands for: it decides what the shell completes. */
export interface ArgumentSpec {
  readonly name: string;
  readonly required: boolean;
  readonly completes: 'scenario' | 'bundle' | 'file' | 'shell' | 'guest' | 'member';
  readonly help: string;
}

export interface CommandSpec {
  readonly summary: string;
  readonly arguments: readonly ArgumentSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  readonly examples: readonly string[];
}

/** Options of every command; they stand before or after the command's name (CR-45). */
export const GLOBAL_OPTIONS = {
  seed: {
    kind: 'integer',
    value: 'n',
    help: 'the seed (else ATHANOR_SEED, the scenario, or one drawn)',
  },
  backend: {
    kind: 'choice',
    choices: BACKENDS,
    help: 'the engine that runs guests (else ATHANOR_BACKEND, else the packaged one)',
  },
  machineJobs: {
    kind: 'integer',
    value: 'n',
    help: 'let so many machines of a world run at once (one for each core)',
  },
  store: { kind: 'path', value: 'dir', help: 'the store of artefacts' },
  format: {
    kind: 'choice',
    choices: ['table', 'jsonl', 'json'],
    help: 'how results are written (table on a terminal, else jsonl)',
  },
  trace: { kind: 'path', value: 'path', help: 'write the log while running, to a file or folder' },
  artifactDir: { kind: 'path', value: 'dir', help: 'where artefacts go (.athanor)' },
  verbose: { kind: 'flag', short: 'v', help: 'say more' },
  quiet: { kind: 'flag', short: 'q', help: 'say nothing but errors and machine-readable results' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

const SCENARIO = {
  name: 'scenario',
  required: true,
  completes: 'scenario',
  help: 'an id in the store, a file, or the name of a built-in scenario',
} as const;

const BUNDLE = {
  name: 'bundle',
  required: true,
  completes: 'bundle',
  help: 'a bundle that `sim run` wrote',
} as const;

const SPEC = {
  name: 'spec',
  required: true,
  completes: 'file',
  help: 'a suite: a file *.sim.ts',
} as const;

const SAVEPOINT = {
  name: 'savepoint',
  required: true,
  completes: 'bundle',
  help: 'a savepoint that `sim save` wrote',
} as const;

const OUT = { kind: 'path', value: 'file', help: 'where the bundle goes' } as const;
const THIN = { kind: 'flag', help: "leave the guests' images out of the bundle" } as const;
const FULL = { kind: 'flag', help: 'show every line of the consoles' } as const;
const AT =
  'virtual-time=<span>, quanta=<n>, event=<n>, decision=<n>, property=<name>, console=<pattern> ' +
  'or quiescence';

/** What the command line may change of a scenario's plan. */
const PLAN_OPTIONS = {
  until: {
    kind: 'choice',
    choices: ['quiescence', 'virtual-time', 'property', 'stopped'],
    help: 'when a run is over (the scenario says so otherwise)',
  },
  maxVirtualTime: { kind: 'span', value: 'span', help: 'the budget of virtual time of a run' },
  maxQuanta: { kind: 'integer', value: 'n', help: 'the budget of scheduler quanta of a run' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export const COMMANDS = {
  ...WORLD_COMMANDS,
  run: {
    summary: 'run a scenario, once or over many seeds',
    arguments: [{ ...SCENARIO, required: false }],
    options: {
      ...PLAN_OPTIONS,
      saveOn: {
        kind: 'choice',
        choices: ['fail', 'always', 'never'],
        help: 'put a checkpoint of the end into the bundle (never)',
      },
      runs: { kind: 'integer', value: 'n', help: 'run n seeds, counting up from the seed' },
      jobs: { kind: 'integer', short: 'j', value: 'n', help: 'run so many at a time' },
      out: OUT,
      thin: THIN,
      full: FULL,
      interactive: { kind: 'flag', help: 'wait at the start for commands on the standard input' },
      watch: { kind: 'flag', help: 'with --interactive, say now and then how far the run is' },
      dry: { kind: 'flag', help: 'check the scenario and print its ids, but do not run it' },
    },
    examples: ['sim run', 'sim run raft --seed 7', 'sim run cluster.toml --runs 1000 --jobs 4'],
  },
  plan: {
    summary: 'say what a suite will run, what it costs and what no fault covers',
    arguments: [SPEC],
    options: {
      coverage: { kind: 'flag', help: 'show which dependencies of services a fault hits' },
      suggest: { kind: 'flag', help: 'write a stub for each dependency that no fault hits' },
      from: {
        kind: 'path',
        value: 'file',
        repeat: true,
        help: 'suggest what these runs met and none exercised: reports of `sim test`, bundles',
      },
      strategy: { kind: 'text', value: 'name', help: 'how stubs are found (rules)' },
      strictCoverage: { kind: 'flag', help: 'exit 1 where a dependency has no fault test' },
      checkCost: { kind: 'flag', help: 'exit 2 where there are more than --max-instances' },
      maxInstances: { kind: 'integer', value: 'n', help: 'the most leaves that a plan may have' },
      dot: { kind: 'flag', help: 'write the plan as a graph for Graphviz' },
    },
    examples: [
      'sim plan checkout.sim.ts',
      'sim plan checkout.sim.ts --coverage --suggest',
      'sim plan checkout.sim.ts --check-cost --max-instances 500',
    ],
  },
  test: {
    summary: 'run a suite: every leaf of its plan',
    arguments: [SPEC],
    options: {
      test: { kind: 'text', value: 'name', help: 'run this test only' },
      leaf: { kind: 'integer', value: 'n', help: 'run this leaf of a test only' },
      shard: { kind: 'text', value: 'i/n', help: 'run the i-th of n parts of the leaves' },
      jobs: { kind: 'integer', short: 'j', value: 'n', help: 'run so many at a time' },
      junit: { kind: 'path', value: 'file', help: 'write the results as JUnit XML' },
      report: { kind: 'path', value: 'file', help: 'write the results as JSON, to merge shards' },
      merge: {
        kind: 'path',
        value: 'file',
        repeat: true,
        help: 'run nothing: make one result of the reports of all shards',
      },
      noPlan: { kind: 'flag', help: 'find axes by running only, and put no plan into bundles' },
      noTypes: { kind: 'flag', help: 'run the spec without checking its types' },
    },
    examples: [
      'sim test checkout.sim.ts --jobs 4',
      'sim test checkout.sim.ts --test pays --leaf 3',
      'sim test checkout.sim.ts --merge 1.json --merge 2.json --junit all.xml',
    ],
  },
  verify: {
    summary: 'run in several processes under hostile hosts and compare',
    arguments: [{ ...SCENARIO, required: false }],
    options: {
      runs: { kind: 'integer', value: 'n', help: 'how many processes (2)' },
      adversarial: { kind: 'flag', help: 'one process for each hostile host there is' },
      node: {
        kind: 'path',
        value: 'binary',
        repeat: true,
        help: 'one more process on this Node.js',
      },
      compare: { kind: 'flag', help: 'compare two bundles instead of running' },
      ...PLAN_OPTIONS,
    },
    examples: ['sim verify raft', 'sim verify raft --adversarial', 'sim verify --compare a b'],
  },
  replay: {
    summary: 'repeat a recorded run and compare every decision and event',
    arguments: [BUNDLE],
    options: {
      to: { kind: 'text', value: 'at', help: `replay only up to ${AT}, or a savepoint's file` },
      check: {
        kind: 'choice',
        choices: ['log'],
        help: 'then compare both logs byte for byte as well',
      },
      bisect: {
        kind: 'path',
        value: 'bundle',
        help: 'repeat this run too and find the first difference of the two',
      },
      leaf: { kind: 'integer', value: 'n', help: "run this leaf of the bundle's test instead" },
      full: FULL,
    },
    examples: ['sim replay run.athanor', 'sim replay run.athanor --to virtual-time=5s'],
  },
  save: {
    summary: 'run to a boundary and save the whole world there',
    arguments: [SCENARIO],
    options: {
      at: { kind: 'text', value: 'at', help: AT },
      label: { kind: 'text', value: 'text', help: 'what to call the savepoint' },
      out: { kind: 'path', value: 'file', help: 'where the savepoint goes' },
      thin: THIN,
    },
    examples: ['sim save raft --at virtual-time=5s --out s.athanor'],
  },
  resume: {
    summary: 'go on from a savepoint as if the run had never stopped',
    arguments: [SAVEPOINT],
    options: { out: OUT, thin: THIN, full: FULL },
    examples: ['sim resume s.athanor'],
  },
  fork: {
    summary: 'go on from a savepoint, or a point of a recorded run, in another way',
    arguments: [{ ...SAVEPOINT, help: 'a savepoint, or a bundle together with --at' }],
    options: {
      at: { kind: 'text', value: 'at', help: `where to leave a recorded run: ${AT}` },
      override: {
        kind: 'text',
        value: 'stream#n=choice',
        repeat: true,
        help: 'answer this decision so (not together with --seed)',
      },
      out: OUT,
      thin: THIN,
      full: FULL,
    },
    examples: [
      'sim fork s.athanor --seed 8',
      'sim fork run.athanor --at event=120 --override plan/crash/node#0=2',
    ],
  },
  debug: {
    summary: 'hold a machine of a recorded world with gdb, in a fork that is thrown away',
    arguments: [{ ...SAVEPOINT, help: 'a savepoint, or a bundle together with --at' }],
    options: {
      gdb: {
        kind: 'text',
        value: 'node',
        help: 'the machine that gdb holds',
      },
      at: { kind: 'text', value: 'at', help: `where to leave a recorded run: ${AT}` },
    },
    examples: ['sim debug s.athanor --gdb db', 'sim debug run.athanor --at console=panic --gdb db'],
  },
  search: {
    summary: 'look for runs that fail among other schedules and faults',
    arguments: [{ ...SCENARIO, required: false }],
    options: {
      strategy: {
        kind: 'choice',
        choices: ['random', 'pct', 'delay', 'swarm', 'bfs', 'dfs'],
        help: 'which runs are tried (random)',
      },
      maxStates: { kind: 'integer', value: 'n', help: 'the budget of runs (1)' },
      maxDepth: {
        kind: 'integer',
        value: 'n',
        help: 'priorities and changes (pct), waits (delay), decisions (bfs, dfs)',
      },
      onViolation: {
        kind: 'choice',
        choices: ['stop', 'collect'],
        help: 'whether the search goes on after a failed property (stop)',
      },
      delay: { kind: 'span', value: 'span', help: 'the longest wait for a processor (20ms)' },
      branchOn: {
        kind: 'text',
        value: 'pattern',
        repeat: true,
        help: 'bfs and dfs: branch on decisions of these streams (plan/, /schedule)',
      },
      ledger: { kind: 'path', value: 'file', help: 'write the findings there, even if none' },
      jobs: { kind: 'integer', short: 'j', value: 'n', help: 'run so many at a time' },
      ...PLAN_OPTIONS,
    },
    examples: [
      'sim search fault-campaign --max-states 200',
      'sim search raft --strategy swarm --max-states 1000 --on-violation collect --jobs 2',
    ],
  },
  shrink: {
    summary: 'find the smallest scenario that fails as a recorded run did',
    arguments: [BUNDLE],
    options: {
      budget: {
        kind: 'text',
        value: 'budget',
        help: 'at most so many runs, or so long (1000 runs)',
      },
      jobs: { kind: 'integer', short: 'j', value: 'n', help: 'run so many at a time' },
      out: OUT,
      thin: THIN,
    },
    examples: ['sim shrink run.athanor', 'sim shrink run.athanor --budget 60s --jobs 2'],
  },
  triage: {
    summary: 'group the findings of campaigns by the failure that they show',
    arguments: [
      {
        name: 'findings',
        required: true,
        completes: 'file',
        help: 'a folder of bundles, a ledger, or the records of `sim run --runs` or `sim search`',
      },
    ],
    options: {
      policy: {
        kind: 'choice',
        choices: ['coarse', 'default', 'fine', 'exact'],
        help: 'how alike failures are that are taken for one (default)',
      },
      compare: {
        kind: 'path',
        value: 'findings',
        help: 'say which failures are new, known or gone; exit code 1 if any is new',
      },
      minimize: {
        kind: 'choice',
        choices: ['none', 'representative', 'all'],
        help: 'shrink the smallest bundle of each failure, or all bundles (none)',
      },
      recomputeSignatures: {
        kind: 'flag',
        help: 'repeat each run and sign what comes of it, not what was recorded',
      },
      budget: { kind: 'text', value: 'budget', help: 'of each shrink: runs, or time (1000 runs)' },
      jobs: { kind: 'integer', short: 'j', value: 'n', help: 'run so many at a time' },
      out: { kind: 'path', value: 'dir', help: 'where shrunk bundles go (.athanor/minimized)' },
      report: { kind: 'path', value: 'file', help: 'write the table as a page of Markdown, too' },
    },
    examples: [
      'sim triage .athanor/runs',
      'sim triage .athanor/runs --minimize representative --jobs 2',
      'sim triage found.json --policy coarse',
      'sim triage today/ --compare yesterday/',
    ],
  },
  bisect: {
    summary: 'find the moment, the decision, or the build that made a run fail',
    arguments: [
      { ...BUNDLE, help: 'the bundle of a run that failed' },
      { name: 'other', required: false, completes: 'bundle', help: 'another run to compare with' },
    ],
    options: {
      decisions: {
        kind: 'flag',
        help: 'find two runs that differ in one decision, one failing and one not',
      },
      good: { kind: 'path', value: 'module', help: 'try two builds: one that is good' },
      bad: { kind: 'path', value: 'module', help: 'and one that is bad' },
      builds: {
        kind: 'path',
        value: 'dir',
        help: 'find the first bad one of these modules, in the order of their names',
      },
      git: {
        kind: 'text',
        value: 'good..bad',
        help: 'find the first bad commit of this range; needs --build',
      },
      build: { kind: 'text', value: 'command', help: 'what builds a commit, for the shell' },
      artifact: {
        kind: 'text',
        value: 'path',
        help: 'the module that it leaves in the work tree (the only new one)',
      },
      repo: { kind: 'path', value: 'dir', help: 'the git repository (the current folder)' },
      guest: { kind: 'text', value: 'label', help: 'the guest that the builds are of' },
      budget: {
        kind: 'integer',
        value: 'n',
        help: 'run at most n continuations (3000; over builds 4000)',
      },
      confidence: { kind: 'integer', value: 'percent', help: 'of the intervals (95)' },
      jobs: { kind: 'integer', short: 'j', value: 'n', help: 'run so many at a time (all cores)' },
      out: { kind: 'path', value: 'dir', help: 'where the bundles that were found go' },
    },
    examples: [
      'sim bisect failed.athanor',
      'sim bisect failed.athanor --decisions',
      'sim bisect failed.athanor passed.athanor',
      'sim bisect failed.athanor --builds nightly/ --guest server',
      'sim bisect failed.athanor --good old.wasm --bad new.wasm',
      "sim bisect failed.athanor --git v1..main --build 'make server.wasm'",
    ],
  },
  report: {
    summary: 'write a run as one HTML file to look at',
    arguments: [BUNDLE],
    options: { out: { kind: 'path', value: 'file', help: 'where it goes (beside the bundle)' } },
    examples: ['sim report .athanor/runs/raft-seed1-0123abcd.athanor --out run.html'],
  },
  inspect: {
    summary: 'look into a bundle, a trace or a scenario',
    arguments: [
      { name: 'file', required: true, completes: 'bundle', help: 'a bundle, trace or scenario' },
      { name: 'member', required: false, completes: 'member', help: 'write this member out' },
    ],
    options: {
      decisions: { kind: 'flag', help: 'list the decisions' },
      events: { kind: 'flag', help: 'list the events' },
      from: { kind: 'integer', value: 'index', help: 'list from this index on (0)' },
      limit: { kind: 'integer', value: 'n', help: 'list at most n (100; 0 for all)' },
      extract: { kind: 'path', value: 'dir', help: 'unpack all members into a new folder' },
    },
    examples: ['sim inspect run.athanor', 'sim inspect run.athanor --events --format jsonl'],
  },
  doctor: {
    summary: 'check that this computer can run simulations',
    arguments: [],
    options: {},
    examples: ['sim doctor'],
  },
  completions: {
    summary: 'write completions for a shell',
    arguments: [{ name: 'shell', required: true, completes: 'shell', help: 'bash, zsh or fish' }],
    options: {},
    examples: ['sim completions bash > /etc/bash_completion.d/sim'],
  },
  'vm setup': {
    summary: 'make this computer ready for machines: packages, the adapter, its self-test',
    arguments: [],
    options: {
      qemu: { kind: 'path', value: 'file', help: "a QEMU in the place of Debian's" },
    },
    examples: ['sim vm setup', 'sim vm setup --backend plugin'],
  },
  'guest build': {
    summary: 'build a guest that comes with the simulator, or one C file',
    arguments: [{ name: 'guest', required: true, completes: 'guest', help: 'a name or a C file' }],
    options: { out: { kind: 'path', value: 'file', help: 'where the module goes' } },
    examples: ['sim guest build raft', 'sim guest build server.c --out server.wasm'],
  },
  'guest instrument': {
    summary: 'write the module that the engine really runs',
    arguments: [{ name: 'file', required: true, completes: 'file', help: 'a module' }],
    options: {
      out: { kind: 'path', value: 'file', help: 'where the module goes' },
      memoryPagesMax: { kind: 'integer', value: 'n', help: 'the most memory (4096 pages)' },
    },
    examples: ['sim guest instrument server.wasm --out server.instrumented.wasm'],
  },
  'guest explain': {
    summary: 'say what a module imports and uses, and what is refused and why',
    arguments: [{ name: 'file', required: true, completes: 'file', help: 'a module' }],
    options: {},
    examples: ['sim guest explain server.wasm'],
  },
  'vm image': {
    summary: 'make the image of a machine: kernel, initial file system, data disk',
    arguments: [
      { name: 'file', required: true, completes: 'file', help: 'a vm.toml, or a built-in machine' },
    ],
    options: {
      update: { kind: 'flag', help: 'download the lists of packages anew' },
      out: { kind: 'path', value: 'dir', help: 'copy the image into a new folder' },
    },
    examples: ['sim vm image redis', 'sim vm image server.vm.toml --out image/'],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;

export type CommandName = keyof typeof COMMANDS;

type BaseValue<O extends OptionSpec> = O['kind'] extends 'flag'
  ? boolean
  : O['kind'] extends 'integer' | 'span'
    ? number
    : O extends { readonly choices: readonly (infer Word)[] }
      ? Word
      : string;

type Value<O extends OptionSpec> = O extends { readonly repeat: true }
  ? readonly BaseValue<O>[]
  : O['kind'] extends 'flag'
    ? boolean
    : BaseValue<O> | undefined;

type Values<Table extends Readonly<Record<string, OptionSpec>>> = {
  readonly [Name in keyof Table]: Value<Table[Name]>;
};

/** The values of a command's own options; those that did not stand are undefined, false or []. */
export type OptionsOf<Name extends CommandName> = Values<(typeof COMMANDS)[Name]['options']>;
export type GlobalOptions = Values<typeof GLOBAL_OPTIONS>;

/** `maxVirtualTime` is written `--max-virtual-time`. */
export function longName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

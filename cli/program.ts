import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { parseSpan } from '../sim/index.ts';
import { makeContext, type Context } from './context.ts';
import { exitCodeOf, reportError } from './errors.ts';
import type { Host } from './host.ts';
import {
  COMMANDS,
  GLOBAL_OPTIONS,
  longName,
  type CommandName,
  type CommandSpec,
  type GlobalOptions,
  type OptionsOf,
  type OptionSpec,
} from './options.ts';
import { packageVersion } from './version.ts';

/** A command: returns the exit code. */
export type Run<Name extends CommandName> = (
  args: readonly string[],
  options: OptionsOf<Name>,
  context: Context,
) => Promise<number> | number;

/** Each command's code is loaded only when it runs. */
const LOADERS: { readonly [Name in CommandName]: () => Promise<{ readonly run: Run<Name> }> } = {
  run: () => import('./commands/run.ts'),
  plan: () => import('./commands/plan.ts'),
  test: () => import('./commands/test.ts'),
  verify: () => import('./commands/verify.ts'),
  replay: () => import('./commands/replay.ts'),
  save: () => import('./commands/save.ts'),
  resume: () => import('./commands/resume.ts'),
  fork: () => import('./commands/fork.ts'),
  search: () => import('./commands/search.ts'),
  shrink: () => import('./commands/shrink.ts'),
  triage: () => import('./commands/triage.ts'),
  bisect: () => import('./commands/bisect.ts'),
  report: () => import('./commands/report.ts'),
  inspect: () => import('./commands/inspect.ts'),
  'world check': () => import('./commands/world-check.ts'),
  'world serve': () => import('./commands/world-serve.ts'),
  doctor: () => import('./commands/doctor.ts'),
  completions: () => import('./commands/completions.ts'),
  'vm setup': () => import('./commands/vm-setup.ts'),
  'guest build': () => import('./commands/guest-build.ts'),
  'guest instrument': () => import('./commands/guest-instrument.ts'),
  'vm image': () => import('./commands/vm-image.ts'),
  'guest explain': () => import('./commands/guest-explain.ts'),
};

/** What groups of commands are about. */
const GROUP_SUMMARIES: Readonly<Record<string, string>> = {
  guest: 'work on guest programs',
  vm: 'work on machines',
  world: 'work with record worlds: stateful services that are fakes',
};

const EXIT_USAGE = 64;

/** Runs the command line `args` (without the program); returns the exit code. */
export async function runCommandLine(args: readonly string[], host: Host): Promise<number> {
  let exitCode = 0;
  const program = buildProgram(host, (code) => {
    exitCode = code;
  });
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    reportError(error, host, errorFormat(program));
    return exitCodeOf(error);
  }
  return exitCode;
}

function buildProgram(host: Host, setExitCode: (code: number) => void): Command {
  const program = configure(new Command('sim'), host);
  program.description('Runs compiled programs in a hermetic, deterministic, virtual world.');
  program.version(packageVersion(), '-V, --version', 'print the version');
  program.helpOption('-h, --help', 'print help');
  addOptions(program, GLOBAL_OPTIONS);
  const groups = new Map<string, Command>();
  for (const name of Object.keys(COMMANDS) as CommandName[]) {
    const [first = '', second] = name.split(' ');
    const parent = second === undefined ? program : group(program, groups, first, host);
    addCommand(parent, program, { name, word: second ?? first, host, setExitCode });
  }
  program.addHelpText('after', '\nOptions may stand before or after the command. See docs/cli.md.');
  return program;
}

function group(program: Command, groups: Map<string, Command>, name: string, host: Host): Command {
  let command = groups.get(name);
  if (command === undefined) {
    command = configure(program.command(name), host).summary(GROUP_SUMMARIES[name] ?? '');

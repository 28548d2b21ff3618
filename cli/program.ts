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
  debug: () => import('./commands/debug.ts'),
  search: () => import('./commands/search.ts'),
  shrink: () => import('./commands/shrink.ts'),
  triage: () => import('./commands/triage.ts'),
  bisect: () => import('./commands/bisect.ts'),
  report: () => import('./commands/report.ts'),
  inspect: () => import('./commands/inspect.ts'),
  drive: () => import('./commands/drive.ts'),
  'world check': () => import('./commands/world-check.ts'),
  'world serve': () => import('./commands/world-serve.ts'),
  doctor: () => import('./commands/doctor.ts'),
  completions: () => import('./commands/completions.ts'),
  'vm setup': () => import('./commands/vm-setup.ts'),
  'vm image': () => import('./commands/vm-image.ts'),
  'guest build': () => import('./commands/guest-build.ts'),
  'guest instrument': () => import('./commands/guest-instrument.ts'),
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
    groups.set(name, command);
  }
  return command;
}

interface Added {
  readonly name: CommandName;
  readonly word: string;
  readonly host: Host;
  readonly setExitCode: (code: number) => void;
}

function addCommand(parent: Command, program: Command, added: Added): void {
  const { name, word, host, setExitCode } = added;
  const spec: CommandSpec = COMMANDS[name];
  const command = configure(parent.command(word), host);
  command.summary(spec.summary).description(`${capital(spec.summary)}.`);
  for (const argument of spec.arguments) {
    const brackets = argument.required ? `<${argument.name}>` : `[${argument.name}]`;
    command.argument(brackets, argument.help);
  }
  // `verify --compare a b` takes two bundles in the place of one scenario.
  if (name === 'verify') command.argument('[other]', 'the other bundle, with --compare');
  addOptions(command, spec.options);
  command.addHelpText('after', `\nExamples:\n${spec.examples.map((e) => `  ${e}\n`).join('')}`);
  command.action(async () => {
    const globals = values(program, GLOBAL_OPTIONS) as GlobalOptions;
    const context = makeContext(host, globals);
    const options = values(command, spec.options);
    const loaded = await LOADERS[name]();
    const args = command.args;
    // The values were made from this very command's table.
    setExitCode(await loaded.run(args, options as never, context));
    context.output.end(name);
  });
}

function configure(command: Command, host: Host): Command {
  command.exitOverride();
  command.helpCommand(false);
  command.allowExcessArguments(false);
  command.showSuggestionAfterError(true);
  command.configureOutput({
    writeOut: (text) => host.stdout.write(text),
    writeErr: (text) => host.stderr.write(text),
    outputError: (text, write) => write(text.replace(/^error: /, 'error usage: ')),
    getOutHelpWidth: () => Math.min(host.stdout.columns, 100),
    getErrHelpWidth: () => Math.min(host.stderr.columns, 100),
  });
  return command;
}

function addOptions(command: Command, table: Readonly<Record<string, OptionSpec>>): void {
  for (const [key, spec] of Object.entries(table)) {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const value = spec.kind === 'flag' ? '' : ` <${spec.value ?? spec.kind}>`;
    const option = new Option(`${short}--${longName(key)}${value}`, spec.help);
    if (spec.choices !== undefined) option.choices(spec.choices);
    else if (spec.kind !== 'flag') option.argParser(valueParser(spec));
    command.addOption(option);
  }
}

function valueParser(spec: OptionSpec): (text: string, previous: unknown) => unknown {
  return (text, previous) => {
    const value = parseValue(spec, text);
    if (spec.repeat !== true) return value;
    return [...((previous as readonly unknown[] | undefined) ?? []), value];
  };
}

function parseValue(spec: OptionSpec, text: string): string | number {
  if (spec.kind === 'integer') {
    const value = Number(text);
    if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(value)) return value;
    throw new InvalidArgumentError('It is not a whole number within 0 to 2^53 - 1.');
  }
  if (spec.kind === 'span') {
    const span = parseSpan(text);
    if (span.ok) return span.ns;
    throw new InvalidArgumentError(`${span.why}.`);
  }
  if (text === '') throw new InvalidArgumentError('It is empty.');
  return text;
}

/** The values of a table's options, with false and [] for flags and lists that did not stand. */
function values(command: Command, table: Readonly<Record<string, OptionSpec>>): unknown {
  const given = command.opts<Record<string, unknown>>();
  return Object.fromEntries(
    Object.entries(table).map(([key, spec]) => {
      if (spec.kind === 'flag') return [key, isGiven(given, key)];
      if (spec.repeat === true) return [key, given[key] ?? []];
      return [key, given[key]];
    }),
  );
}

/** Errors are text for people, unless somebody asked for records. */
function errorFormat(program: Command): 'text' | 'json' {
  const format: unknown = program.opts<Record<string, unknown>>()['format'];
  return format === undefined || format === 'table' ? 'text' : 'json';
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Commander calls `--no-types` an option `types` that is true until it stands. */
function isGiven(given: Readonly<Record<string, unknown>>, key: string): boolean {
  const negated = /^no([A-Z])(.*)$/.exec(key);
  if (negated === null) return given[key] === true;
  return given[`${(negated[1] ?? '').toLowerCase()}${negated[2] ?? ''}`] === false;
}

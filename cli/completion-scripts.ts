import { builtinScenarioNames } from '../scenarios/index.ts';
import {
  COMMANDS,
  GLOBAL_OPTIONS,
  longName,
  type ArgumentSpec,
  type CommandSpec,
  type OptionSpec,
} from './options.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Described {
  /** `run` or `guest build`. */
  readonly name: string;
  readonly spec: CommandSpec;
}

/** The script that makes a shell complete `sim`. */
export function completionScript(shell: Shell): string {
  const commands = Object.entries(COMMANDS).map(([name, spec]): Described => ({ name, spec }));
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      return zshScript(commands);
    case 'fish':
      return fishScript(commands);
  }
}

function flagsOf(spec: CommandSpec): readonly (readonly [string, OptionSpec])[] {
  const all: Readonly<Record<string, OptionSpec>> = { ...spec.options, ...GLOBAL_OPTIONS };
  return Object.entries(all).map(([key, option]) => [`--${longName(key)}`, option]);
}

/** Words that an argument can be; files are completed by the shell itself. */
function argumentWords(argument: ArgumentSpec | undefined): readonly string[] {
  switch (argument?.completes) {
    case 'scenario':
      return builtinScenarioNames();
    case 'shell':
      return SHELLS;
    default:
      return [];
  }
}

function firstWords(commands: readonly Described[]): readonly string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
}

function bashScript(commands: readonly Described[]): string {
  const cases = commands.map(({ name, spec }) => {
    const flags = flagsOf(spec).map(([flag]) => flag);
    const words = argumentWords(spec.arguments[0]);
    return `    '${name}') flags='${flags.join(' ')}' words='${words.join(' ')}' ;;`;
  });
  const choices = choiceTable(commands).map(([flag, words]) => {
    return `    ${flag}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$word")); return ;;`;
  });
  const groups = groupTable(commands).map(([group, words]) => {
    return `    ${group}) words='${words.join(' ')}' ;;`;
  });
  return `# Completions of sim for bash.
_sim() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local command= flags= words= item
  for item in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $item in
    -*) ;;
    *) command="\${command:+$command }$item"; [[ $command == guest ]] || break ;;
    esac
  done
  case $before in
${choices.join('\n')}
  esac
  case $command in
    '') words='${firstWords(commands).join(' ')}' ;;
${groups.join('\n')}
${cases.join('\n')}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags --help --version" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _sim sim
`;
}

function zshScript(commands: readonly Described[]): string {
  const cases = commands.map(({ name, spec }) => {
    const flags = flagsOf(spec).map(([flag, option]) => zshFlag(flag, option));
    const words = argumentWords(spec.arguments[0]);
    const argument = spec.arguments.length === 0 ? '' : ` '*:file:_sim_words ${words.join(' ')}'`;
    return `    '${name}') _arguments -s ${flags.join(' ')}${argument} ;;`;
  });
  const first = firstWords(commands).map((word) => {
    const summary = commands.find(({ name }) => name === word)?.spec.summary ?? 'guest programs';
    return `'${word}:${zshText(summary)}'`;
  });
  const groups = groupTable(commands).map(([group, words]) => {
    return `    ${group}) _values command ${words.join(' ')} ;;`;
  });
  return `#compdef sim
# Completions of sim for zsh.
_sim_words() { (( $# )) && compadd -- "$@"; _files }
_sim() {
  local command=\${words[2]}
  local -a commands=(${first.join(' ')})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  if [[ $command == guest && CURRENT -gt 3 ]]; then command="guest \${words[3]}"; fi
  shift words; (( CURRENT-- ))
  case $command in
${groups.join('\n')}
${cases.join('\n')}
  esac
}
_sim "$@"
`;
}

function zshFlag(flag: string, option: OptionSpec): string {
  const many = option.repeat === true ? '*' : '';
  const help = `[${zshText(option.help)}]`;
  if (option.kind === 'flag') return `'${many}${flag}${help}'`;
  const action =
    option.choices !== undefined
      ? `(${option.choices.join(' ')})`
      : option.kind === 'path'
        ? '_files'
        : ' ';
  return `'${many}${flag}=${help}:${option.value ?? option.kind}:${action}'`;
}

/** A text within single quotes and brackets of zsh. */
function zshText(text: string): string {
  return text.replaceAll("'", '').replaceAll(/[[\]:`]/g, '');
}

function fishScript(commands: readonly Described[]): string {
  const lines = ['# Completions of sim for fish.', 'complete -c sim -e'];
  for (const word of firstWords(commands)) {
    const summary = commands.find(({ name }) => name === word)?.spec.summary ?? 'guest programs';
    lines.push(`complete -c sim -n __fish_use_subcommand -a ${word} -d ${fishText(summary)}`);
  }
  for (const { name, spec } of commands) {
    const [first = '', second] = name.split(' ');
    const seen = `__fish_seen_subcommand_from ${second ?? first}`;
    if (second !== undefined) {
      const condition = `'__fish_seen_subcommand_from ${first}'`;
      lines.push(`complete -c sim -n ${condition} -a ${second} -d ${fishText(spec.summary)}`);
    }
    for (const word of argumentWords(spec.arguments[0])) {
      lines.push(`complete -c sim -n '${seen}' -a ${word}`);
    }
    for (const [flag, option] of flagsOf(spec)) {
      const value = option.kind === 'flag' ? '' : ' -r';
      const words = option.choices === undefined ? '' : ` -a '${option.choices.join(' ')}'`;
      const short = option.short === undefined ? '' : ` -s ${option.short}`;
      const help = ` -d ${fishText(option.help)}`;
      lines.push(`complete -c sim -n '${seen}' -l ${flag.slice(2)}${short}${value}${words}${help}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function fishText(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}

/** Options with a fixed set of words; equal names have equal words everywhere. */
function choiceTable(commands: readonly Described[]): (readonly [string, readonly string[]])[] {
  const table = new Map<string, readonly string[]>();
  for (const { spec } of commands) {
    for (const [flag, option] of flagsOf(spec)) {
      if (option.choices !== undefined) table.set(flag, option.choices);
    }
  }
  return [...table];
}

/** Groups of commands, such as `guest`, with the words that follow them. */
function groupTable(commands: readonly Described[]): (readonly [string, readonly string[]])[] {
  const table = new Map<string, string[]>();
  for (const { name } of commands) {
    const [first = '', second] = name.split(' ');
    if (second !== undefined) table.set(first, [...(table.get(first) ?? []), second]);
  }
  return [...table];
}

import {
  COMMANDS,
  GLOBAL_OPTIONS,
  longName,
  type CommandSpec,
  type OptionSpec,
} from './options.ts';

/** The part of docs/cli.md that is made of the table of options. */
export function commandReference(): string {
  const commands = Object.entries(COMMANDS).map(([name, spec]) => commandSection(name, spec));
  return [
    '### Options of every command',
    '',
    'They stand before or after the command.',
    '',
    optionTable(GLOBAL_OPTIONS),
    '',
    ...commands,
  ].join('\n');
}

function commandSection(name: string, spec: CommandSpec): string {
  const lines = [`### sim ${name}`, '', `${capital(spec.summary)}.`, '', usage(name, spec), ''];
  if (Object.keys(spec.options).length > 0) lines.push(optionTable(spec.options), '');
  lines.push('Examples:', '', ...spec.examples.map((example) => `    ${example}`), '');
  return lines.join('\n');
}

function usage(name: string, spec: CommandSpec): string {
  const words = spec.arguments.map((argument) => {
    return argument.required ? `<${argument.name}>` : `[${argument.name}]`;
  });
  const helps = spec.arguments.map((argument) => `\`${argument.name}\`: ${argument.help}`);
  const line = `    ${['sim', name, ...words, '[options]'].join(' ')}`;
  return helps.length === 0 ? line : `${line}\n\n${helps.join('; ')}.`;
}

function optionTable(table: Readonly<Record<string, OptionSpec>>): string {
  const rows = Object.entries(table).map(([key, spec]) => {
    const short = spec.short === undefined ? '' : `\`-${spec.short}\`, `;
    const value = spec.choices?.join('\\|') ?? spec.value ?? '';
    const long = `--${longName(key)}${spec.kind === 'flag' ? '' : ` ${value}`}`;
    const many = spec.repeat === true ? ' (may stand several times)' : '';
    return `| ${short}\`${long}\` | ${spec.help}${many} |`;
  });
  return ['| option | meaning |', '| --- | --- |', ...rows].join('\n');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

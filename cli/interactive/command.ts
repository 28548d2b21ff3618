import { formatSpan, parseSpan, SimError, type ActionDef, type Override } from '../../sim/index.ts';
import { parseOverride } from '../override.ts';
import { parseSelector, type Selector } from '../selector.ts';

/** What a person tells a run that waits for them (CR-12). */
export type InteractiveCommand =
  | { readonly kind: 'continue'; readonly to: Selector | null }
  | { readonly kind: 'pause' | 'step-assertion' | 'step-timer' | 'heal' | 'stop' | 'help' }
  | { readonly kind: 'step' | 'step-event'; readonly count: number }
  | { readonly kind: 'step-duration'; readonly ns: number }
  | { readonly kind: 'inject'; readonly action: ActionDef; readonly text: string }
  | { readonly kind: 'save'; readonly file: string }
  | { readonly kind: 'fork'; readonly seed: number }
  | { readonly kind: 'override'; readonly override: Override }
  | { readonly kind: 'query'; readonly what: QueryTopic };

export const QUERY_TOPICS = ['nodes', 'properties', 'position'] as const;
export type QueryTopic = (typeof QUERY_TOPICS)[number];

/** One line for each command, for `help` and for docs/cli.md. */
export const INTERACTIVE_HELP: readonly (readonly [usage: string, meaning: string])[] = [
  ['continue [boundary]', 'run to the end, or to a boundary such as virtual-time=5s'],
  ['pause', 'stop a `continue` that is under way'],
  ['step [n]', 'run n quanta (1)'],
  ['step-event [n]', 'run until n more events are logged (1)'],
  ['step-assertion', 'run until one more property is decided'],
  ['step-timer', 'run until one more timer has fired'],
  ['step-duration <span>', 'run for so long'],
  ['inject crash|restart|isolate <node>', 'do that to a node, now'],
  ['inject pause <node> <span>', 'keep a node from running for so long'],
  ['inject cut <node> <node>', 'cut the link from the one to the other'],
  ['heal', 'mend every cut'],
  ['save <file>', 'write a savepoint, to resume or fork'],
  ['fork seed=<n>', 'draw what follows from another seed'],
  ['fork <stream>#<n>=<choice>', 'answer a coming decision so'],
  ['query [nodes|properties|position]', 'say how things stand'],
  ['stop', 'end the session'],
];

/**
 * Reads a line; null for a blank one and a comment (`#`). `nodes` are the names of the world's
 * nodes. Throws `usage/interactive`.
 */
export function parseCommand(line: string, nodes: readonly string[]): InteractiveCommand | null {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return null;
  const [word = '', ...rest] = text.split(/\s+/);
  switch (word) {
    case 'pause':
    case 'step-assertion':
    case 'step-timer':
    case 'heal':
    case 'stop':
    case 'help':
      arity(text, rest, 0, 0);
      return { kind: word };
    case 'continue':
      arity(text, rest, 0, 1);
      return { kind: word, to: rest[0] === undefined ? null : parseSelector(rest[0]) };
    case 'step':
    case 'step-event':
      arity(text, rest, 0, 1);
      return { kind: word, count: rest[0] === undefined ? 1 : wholeNumber(text, rest[0]) };
    case 'step-duration':
      arity(text, rest, 1, 1);
      return { kind: word, ns: span(text, rest[0] ?? '') };
    case 'inject':
      return { kind: word, action: parseAction(text, rest, nodes), text: rest.join(' ') };
    case 'save':
      arity(text, rest, 1, 1);
      return { kind: word, file: rest[0] ?? '' };
    case 'fork':
      arity(text, rest, 1, 1);
      return parseFork(text, rest[0] ?? '');
    case 'query': {
      arity(text, rest, 0, 1);
      const what = QUERY_TOPICS.find((topic) => topic === (rest[0] ?? 'position'));
      return what === undefined ? refuse(text, 'nothing is known of that') : { kind: word, what };
    }
    default:
      return refuse(text, `"${word}" is no command`);
  }
}

function parseFork(text: string, branch: string): InteractiveCommand {
  if (branch.startsWith('seed=')) return { kind: 'fork', seed: wholeNumber(text, branch.slice(5)) };
  return { kind: 'override', override: parseOverride(branch) };
}

function parseAction(text: string, words: readonly string[], nodes: readonly string[]): ActionDef {
  const [kind = '', ...rest] = words;
  const node = (at: number): number => {
    const index = nodes.indexOf(rest[at] ?? '');
    if (index >= 0) return index;
    return refuse(text, `there is no node "${rest[at] ?? ''}" among ${nodes.join(', ')}`);
  };
  switch (kind) {
    case 'crash':
    case 'restart':
    case 'isolate':
      arity(text, rest, 1, 1);
      return { kind, oneOf: [node(0)] };
    case 'pause':
      arity(text, rest, 2, 2);
      return { kind, oneOf: [node(0)], forNs: span(text, rest[1] ?? '') };
    case 'cut':
      arity(text, rest, 2, 2);
      return { kind, from: [node(0)], to: [node(1)] };
    default:
      return refuse(text, `"${kind}" cannot be injected`);
  }
}

function arity(text: string, rest: readonly string[], least: number, most: number): void {
  if (rest.length < least) refuse(text, 'something is missing');
  if (rest.length > most) refuse(text, `"${rest[most] ?? ''}" is one word too many`);
}

function wholeNumber(text: string, word: string): number {
  const value = Number(word);
  if (/^\d{1,16}$/.test(word) && Number.isSafeInteger(value)) return value;
  return refuse(text, `"${word}" is not a whole number`);
}

function span(text: string, word: string): number {
  const parsed = parseSpan(word);
  if (!parsed.ok) return refuse(text, parsed.why);
  if (parsed.ns === 0) return refuse(text, `${formatSpan(0)} is no time at all`);
  return parsed.ns;
}

function refuse(text: string, why: string): never {
  throw new SimError({
    code: 'usage/interactive',
    message: `"${text}" is not understood: ${why}`,
    remedy: '`help` lists the commands',
  });
}

import { headOf, parseScript, textOf, type ListNode, type Node } from './wast-syntax.ts';

/** A module of a script: WAT text, or bytes. */
export interface ModuleSource {
  readonly name: string | null;
  readonly wat: string | null;
  readonly binary: Uint8Array | null;
}

export interface Action {
  readonly kind: 'invoke' | 'get';
  /** Module by its name in the script; null is the latest one. */
  readonly module: string | null;
  readonly field: string;
  /** Constants in text, as `(i32.const 1)`. */
  readonly args: readonly string[];
}

export type Command =
  | { readonly kind: 'module'; readonly source: ModuleSource }
  | { readonly kind: 'register'; readonly as: string; readonly module: string | null }
  | { readonly kind: 'action'; readonly action: Action }
  | {
      readonly kind: 'assert_return';
      readonly action: Action;
      readonly expected: readonly string[];
    }
  | {
      readonly kind: 'assert_trap' | 'assert_exhaustion' | 'assert_exception';
      readonly action: Action;
    }
  /** The module must not instantiate (trap in its start or its segments, or a missing import). */
  | { readonly kind: 'assert_uninstantiable'; readonly source: ModuleSource }
  /** The module must not validate. */
  | { readonly kind: 'assert_invalid'; readonly source: ModuleSource }
  | { readonly kind: 'other'; readonly head: string };

function moduleSource(node: ListNode, script: string): ModuleSource {
  const rest = node.items.slice(1);
  const named = rest[0]?.kind === 'atom' && rest[0].text.startsWith('$');
  const name = named && rest[0].kind === 'atom' ? rest[0].text : null;
  const parts = named ? rest.slice(1) : rest;
  const first = parts.at(0);
  const form = first?.kind === 'atom' ? first.text : '';
  const bytes = parts.slice(1).flatMap((part) => (part.kind === 'string' ? part.bytes : []));
  if (form === 'binary') return { name, wat: null, binary: Uint8Array.from(bytes) };
  if (form === 'quote') {
    return { name, wat: `(module ${Buffer.from(bytes).toString('utf8')})`, binary: null };
  }
  return { name, wat: script.slice(node.start, node.end), binary: null };
}

function actionOf(node: Node, script: string): Action | null {
  const kind = headOf(node);
  if (node.kind !== 'list' || (kind !== 'invoke' && kind !== 'get')) return null;
  const rest = node.items.slice(1);
  const first = rest.at(0);
  const module = first?.kind === 'atom' ? first.text : null;
  const [field, ...args] = module === null ? rest : rest.slice(1);
  const texts = args.map((arg) => script.slice(arg.start, arg.end));
  return { kind, module, field: textOf(field), args: texts };
}

function assertion(node: ListNode, script: string): Command {
  const head = headOf(node);
  const subject = node.items[1];
  const other: Command = { kind: 'other', head };
  if (head === 'assert_invalid' || head === 'assert_malformed') {
    if (subject.kind !== 'list') return other;
    return { kind: 'assert_invalid', source: moduleSource(subject, script) };
  }
  if (headOf(subject) === 'module') {
    if (subject.kind !== 'list' || !/trap|unlinkable/.test(head)) return other;
    return { kind: 'assert_uninstantiable', source: moduleSource(subject, script) };
  }
  const action = actionOf(subject, script);
  if (action === null) return other;
  switch (head) {
    case 'assert_return_canonical_nan':
    case 'assert_return_arithmetic_nan':
    case 'assert_return_nan':
      return { kind: 'assert_return', action, expected: ['nan'] };
    case 'assert_return': {
      const expected = node.items.slice(2).map((item) => script.slice(item.start, item.end));
      return { kind: 'assert_return', action, expected };
    }
    case 'assert_trap':
    case 'assert_exhaustion':
    case 'assert_exception':
      return { kind: head, action };
    default:
      return other;
  }
}

function command(node: ListNode, script: string): Command {
  const head = headOf(node);
  if (head === 'module') return { kind: 'module', source: moduleSource(node, script) };
  if (head === 'register') {
    const module = node.items.at(2);
    const name = module?.kind === 'atom' ? module.text : null;
    return { kind: 'register', as: textOf(node.items[1]), module: name };
  }
  const action = actionOf(node, script);
  if (action !== null) return { kind: 'action', action };
  return head.startsWith('assert') ? assertion(node, script) : { kind: 'other', head };
}

/** The commands of a `.wast` script of the core test suite. */
export function scriptCommands(script: string): Command[] {
  return parseScript(script).map((node) => command(node, script));
}

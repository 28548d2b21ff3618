import { encodeUtf8, type PredicateDef } from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import type { PredicateFields } from './schema-predicate.ts';
import { didYouMean } from './suggest.ts';
import type { KeyPath } from './toml.ts';

/** The predicates that are known and not to be had, and what to write instead (CR-108). */
const REFUSED: Readonly<Record<'coverage_point' | 'memory_predicate', readonly [string, string]>> =
  {
    coverage_point: [
      'WebAssembly guests do not report which code they reach',
      'let the program assert "reachable" there, and ask with assertion_state',
    ],
    memory_predicate: [
      'the memory and registers of WebAssembly guests are not looked into',
      'let the program say what it holds by a marker, and ask with guest_marker',
    ],
  };

/** Makes a canonical predicate; null after an issue. */
export function compilePredicate(
  fields: PredicateFields,
  path: KeyPath,
  context: CompileContext,
): PredicateDef | null {
  const names = Object.keys(fields) as (keyof PredicateFields)[];
  const [name] = names;
  if (name === undefined || names.length > 1) {
    const given = names.length === 0 ? 'none' : names.join(', ');
    const remedy = 'join several by all_of or any_of';
    context.fail('predicate', path, `a predicate has exactly one key, this has ${given}`, remedy);
    return null;
  }
  const own = [...path, name];
  if (name === 'coverage_point' || name === 'memory_predicate') {
    const [why, remedy] = REFUSED[name];
    context.fail('unsupported', own, `${name} is not to be had: ${why}`, remedy);
    return null;
  }
  const joined = compileParts(fields, own, context);
  return joined === undefined ? compileLeaf(fields, own, context) : joined;
}

/** Predicates that are made of others; undefined for one that is not, null after an issue. */
function compileParts(
  fields: PredicateFields,
  path: KeyPath,
  context: CompileContext,
): PredicateDef | null | undefined {
  const { all_of: every, any_of: some, once, not, timer } = fields;
  const each = (part: PredicateFields, key: string | number): PredicateDef | null => {
    return compilePredicate(part, [...path, key], context);
  };
  const list = every ?? some;
  if (list !== undefined) {
    const of = list.flatMap((part, index) => each(part, index) ?? []);
    return of.length < list.length ? null : { kind: every === undefined ? 'any_of' : 'all_of', of };
  }
  const single = once ?? not;
  if (single !== undefined) {
    const of = compilePredicate(single, path, context);
    return of === null ? null : { kind: once === undefined ? 'not' : 'once', of };
  }
  if (timer === undefined) return undefined;
  const arm = each(timer.arm, 'arm');
  const cancel = timer.cancel === undefined ? null : each(timer.cancel, 'cancel');
  if (arm === null || (cancel === null && timer.cancel !== undefined)) return null;
  return { kind: 'timer', arm, cancel, afterNs: timer.after };
}

function compileLeaf(
  fields: PredicateFields,
  path: KeyPath,
  context: CompileContext,
): PredicateDef | null {
  const { at, after, console_match: line, guest_marker: marker, io_pattern: io } = fields;
  const { node_state: node, assertion_state: assertion, network_match: network } = fields;
  const nodesOf = (names: readonly string[] | undefined, key = 'nodes'): readonly number[] => {
    return context.nodesOrAll(names, [...path, key]);
  };
  if (at !== undefined) return { kind: 'at', atNs: at };
  if (after !== undefined) return { kind: 'after', atNs: after };
  if (line !== undefined) {
    return { kind: 'console_match', nodes: nodesOf(line.nodes), text: line.text };
  }
  if (marker !== undefined) {
    return { kind: 'guest_marker', nodes: nodesOf(marker.nodes), text: marker.name };
  }
  if (node !== undefined) {
    return { kind: 'node_state', nodes: nodesOf(node.nodes), state: node.is };
  }
  if (assertion !== undefined) {
    return { kind: 'assertion_state', assertion: assertion.name, state: assertion.is };
  }
  if (io !== undefined) {
    if (io.io !== 'nine_p') return { kind: 'io_pattern', nodes: nodesOf(io.nodes), io: io.io };
    const remedy = 'use block_read, block_write or fsync: guests have files of their own';
    context.fail(
      'unsupported',
      [...path, 'io'],
      'nine_p is not to be had: no guest has 9p',
      remedy,
    );
    return null;
  }
  if (network !== undefined) return compileNetwork(network, nodesOf, path, context);
  if (fields.quiescent !== undefined) return { kind: 'quiescent' };
  return compileNamed(fields.named ?? '', path, context);
}

function compileNetwork(
  fields: NonNullable<PredicateFields['network_match']>,
  nodesOf: (names: readonly string[] | undefined, key: string) => readonly number[],
  path: KeyPath,
  context: CompileContext,
): PredicateDef | null {
  const { when, protocol, match, text, hex } = fields;
  if (text !== undefined && hex !== undefined) {
    context.fail('predicate', [...path, 'hex'], 'a payload is either "text" or "hex"');
    return null;
  }
  if (hex !== undefined && !/^(?:[0-9a-f]{2})*$/i.test(hex)) {
    context.fail('predicate', [...path, 'hex'], `"${hex}" is no row of bytes like "00ff"`);
    return null;
  }
  const given = hex === undefined ? encodeUtf8(text ?? '') : Buffer.from(hex, 'hex');
  const from = nodesOf(fields.from, 'from');
  const to = nodesOf(fields.to, 'to');
  return { kind: 'network_match', when, from, to, protocol, match, bytes: Uint8Array.from(given) };
}

const NAMED_FORMS = ['no_crashed_nodes', 'quiescent', 'node_alive:', 'node_crashed:'] as const;

/** The truths that have a name: each stands for a predicate that could be written out. */
function compileNamed(name: string, path: KeyPath, context: CompileContext): PredicateDef | null {
  const all = context.nodesOrAll(undefined, path);
  if (name === 'quiescent') return { kind: 'quiescent' };
  if (name === 'no_crashed_nodes') {
    return { kind: 'not', of: { kind: 'node_state', nodes: all, state: 'crashed' } };
  }
  const match = /^(node_alive|node_crashed):(.*)$/s.exec(name);
  if (match === null) {
    const forms = 'no_crashed_nodes, quiescent, node_alive:<node>, node_crashed:<node>';
    const meant = didYouMean(name, NAMED_FORMS);
    context.fail('predicate', path, `"${name}" names nothing${meant}; the names are ${forms}`);
    return null;
  }
  const node = context.nodeIndex(match[2] ?? '', path);
  if (node < 0) return null;
  const nodes = [node];
  if (match[1] === 'node_crashed') return { kind: 'node_state', nodes, state: 'crashed' };
  // A node that hangs is there, though nothing comes from it.
  const states = ['started', 'hung'] as const;
  return { kind: 'any_of', of: states.map((state) => ({ kind: 'node_state', nodes, state })) };
}

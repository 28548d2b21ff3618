import {
  readBytes,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readVariant,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { PREDICATE_PARTS_MAX, PREDICATE_TEXT_LENGTH_MAX } from './predicate-admit.ts';
import {
  ASSERTION_STATES,
  FRAME_MATCHES,
  IO_KINDS,
  NODE_STATES,
  TEMPORAL_OPERATORS,
  type PredicateDef,
  type TemporalDef,
} from './predicates.ts';

type Predicate<K extends PredicateDef['kind']> = Extract<PredicateDef, { readonly kind: K }>;

/** Reads a predicate of the exchange form; `nodesMax` bounds its lists of nodes. */
export function predicateReader(nodesMax: number): Read<PredicateDef> {
  const nodes = readList(readInteger(), nodesMax);
  // Decoding has bounded the depth already.
  const part: Read<PredicateDef> = (value, path) => read(value, path);
  const text = readText(PREDICATE_TEXT_LENGTH_MAX);
  const list = readList(part, PREDICATE_PARTS_MAX);
  const read = readVariant<PredicateDef>({
    at: readRecord<Predicate<'at'>>({ kind: readWord(['at']), atNs: readInteger() }),
    after: readRecord<Predicate<'after'>>({ kind: readWord(['after']), atNs: readInteger() }),
    timer: readRecord<Predicate<'timer'>>({
      kind: readWord(['timer']),
      arm: part,
      cancel: readNullable(part),
      afterNs: readInteger(),
    }),
    network_match: readRecord<Predicate<'network_match'>>({
      kind: readWord(['network_match']),
      when: readWord(['send', 'deliver']),
      from: nodes,
      to: nodes,
      protocol: readWord(['any', 'tcp', 'udp']),
      match: readWord(FRAME_MATCHES),
      bytes: readBytes(PREDICATE_TEXT_LENGTH_MAX),
    }),
    console_match: readRecord<Predicate<'console_match'>>({
      kind: readWord(['console_match']),
      nodes,
      text,
    }),
    guest_marker: readRecord<Predicate<'guest_marker'>>({
      kind: readWord(['guest_marker']),
      nodes,
      text,
    }),
    io_pattern: readRecord<Predicate<'io_pattern'>>({
      kind: readWord(['io_pattern']),
      nodes,
      io: readWord(IO_KINDS),
    }),
    node_state: readRecord<Predicate<'node_state'>>({
      kind: readWord(['node_state']),
      nodes,
      state: readWord(NODE_STATES),
    }),
    assertion_state: readRecord<Predicate<'assertion_state'>>({
      kind: readWord(['assertion_state']),
      assertion: text,
      state: readWord(ASSERTION_STATES),
    }),
    quiescent: readRecord<Predicate<'quiescent'>>({ kind: readWord(['quiescent']) }),
    all_of: readRecord<Predicate<'all_of'>>({ kind: readWord(['all_of']), of: list }),
    any_of: readRecord<Predicate<'any_of'>>({ kind: readWord(['any_of']), of: list }),
    once: readRecord<Predicate<'once'>>({ kind: readWord(['once']), of: part }),
    not: readRecord<Predicate<'not'>>({ kind: readWord(['not']), of: part }),
  });
  return read;
}

/** Reads a property over moments of the exchange form. */
export function temporalReader(nodesMax: number): Read<TemporalDef> {
  const predicate = predicateReader(nodesMax);
  return readRecord<TemporalDef>({
    kind: readWord(['temporal']),
    name: readText(),
    operator: readWord(TEMPORAL_OPERATORS),
    that: predicate,
    when: readNullable(predicate),
    withinNs: readNullable(readInteger()),
    unreached: readWord(['warn', 'fail']),
  });
}

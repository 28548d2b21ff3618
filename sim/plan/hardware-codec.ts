import { readBoolean, readInteger, readList, readRecord, readWord } from '../kernel/shape.ts';
import type { Read } from '../kernel/shape.ts';
import {
  INTERRUPT_LINES,
  REGISTERS,
  STORM_COUNT_MAX,
  MEMORY_WORD_BITS,
  type HardwareActionDef,
  type MemoryRangeDef,
} from './hardware.ts';

type Action<K extends HardwareActionDef['kind']> = Extract<HardwareActionDef, { kind: K }>;

/** Readers of the faults inside a node, for lists of at most so many nodes. */
export function hardwareReaders(nodesMax: number): {
  readonly [K in HardwareActionDef['kind']]: Read<Action<K>>;
} {
  const oneOf = readList(readInteger(), nodesMax);
  const bits = readInteger(1, MEMORY_WORD_BITS);
  return {
    'flip-memory': readRecord<Action<'flip-memory'>>(
      {
        kind: readWord(['flip-memory']),
        oneOf,
        bits,
        range: readRecord<MemoryRangeDef>({ address: readInteger(), bytes: readInteger(1) }),
      },
      ['range'],
    ),
    'flip-register': readRecord<Action<'flip-register'>>(
      {
        kind: readWord(['flip-register']),
        oneOf,
        bits,
        register: readWord(REGISTERS),
        cpu: readInteger(),
      },
      ['register', 'cpu'],
    ),
    'machine-check': readRecord<Action<'machine-check'>>(
      {
        kind: readWord(['machine-check']),
        oneOf,
        corrected: readBoolean,
        address: readInteger(),
        cpu: readInteger(),
      },
      ['address', 'cpu'],
    ),
    storm: readRecord<Action<'storm'>>({
      kind: readWord(['storm']),
      oneOf,
      line: readInteger(0, INTERRUPT_LINES - 1),
      count: readInteger(1, STORM_COUNT_MAX),
      gapNs: readInteger(1),
    }),
  };
}

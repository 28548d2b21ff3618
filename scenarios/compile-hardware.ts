import { MEMORY_WORD_BYTES, type HardwareActionDef } from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import type { EventFields } from './schema.ts';
import type { KeyPath } from './toml.ts';

type Fields<D extends EventFields['do']> = Extract<EventFields, { do: D }>;

/** What a fault inside a node does to one of `oneOf`; null after an issue. */
export function compileHardware(
  event: Fields<'flip' | 'machine-check' | 'storm'>,
  oneOf: readonly number[] | null,
  path: KeyPath,
  context: CompileContext,
): HardwareActionDef | null {
  if (oneOf === null) return null;
  switch (event.do) {
    case 'flip':
      return event.target === 'memory'
        ? memoryFlip(event, oneOf, path, context)
        : registerFlip(event, oneOf, path, context);
    case 'machine-check': {
      const { corrected, address, cpu } = event;
      return { kind: 'machine-check', oneOf, corrected, ...given({ address, cpu }) };
    }
    case 'storm': {
      const { line, count, gap: gapNs } = event;
      return { kind: 'storm', oneOf, line, count, gapNs };
    }
  }
}

function memoryFlip(
  event: Fields<'flip'>,
  oneOf: readonly number[],
  path: KeyPath,
  context: CompileContext,
): HardwareActionDef | null {
  const { bits, address, bytes } = event;
  let fits = forbid(event, ['register', 'cpu'], path, context);
  if (address === undefined && bytes !== undefined) {
    context.fail('fault', [...path, 'bytes'], 'it needs "address", where they begin');
    fits = false;
  }
  if (!fits) return null;
  const range =
    address === undefined ? {} : { range: { address, bytes: bytes ?? MEMORY_WORD_BYTES } };
  return { kind: 'flip-memory', oneOf, bits, ...range };
}

function registerFlip(
  event: Fields<'flip'>,
  oneOf: readonly number[],
  path: KeyPath,
  context: CompileContext,
): HardwareActionDef | null {
  const { bits, register, cpu } = event;
  if (!forbid(event, ['address', 'bytes'], path, context)) return null;
  return { kind: 'flip-register', oneOf, bits, ...given({ register, cpu }) };
}

/** Whether none of these keys is there; each that is says nothing about such a target. */
function forbid(
  event: Fields<'flip'>,
  keys: readonly ('register' | 'cpu' | 'address' | 'bytes')[],
  path: KeyPath,
  context: CompileContext,
): boolean {
  const found = keys.filter((key) => event[key] !== undefined);
  for (const key of found) {
    context.fail('fault', [...path, key], `it says nothing about target = "${event.target}"`);
  }
  return found.length === 0;
}

/** The fields that are there. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(pairs) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

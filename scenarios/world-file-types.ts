import { FIELD_TYPE_WORDS, type FieldType } from '../sim/index.ts';
import { didYouMean } from './suggest.ts';

/** A type as it was read: a `ref` names its record in full. */
export type ReadType =
  | { readonly ok: true; readonly type: FieldType; readonly service: string }
  | { readonly ok: false; readonly why: string; readonly remedy: string };

const PLAIN = ['str', 'int', 'float', 'bool', 'datetime'] as const;
const WORD = /^[A-Za-z0-9_.:-]{1,64}$/;
const ENUM_VALUES_MAX = 256;

/** Reads `int`, `enum[a, b]`, `ref[service.record]`; what else stands there is told what is allowed. */
export function readFieldType(value: unknown): ReadType {
  if (typeof value === 'object' && value !== null) {
    return {
      ok: false,
      why: 'records are flat: a field is no list and no map',
      remedy: 'make it a record of its own with a ref[service.record] to this one',
    };
  }
  const text = typeof value === 'string' ? value.trim() : String(value);
  const plain = PLAIN.find((kind) => kind === text);
  if (plain !== undefined) return { ok: true, type: { kind: plain }, service: '' };
  const match = /^(enum|ref)\[(.*)\]$/.exec(text);
  if (match?.[1] === 'enum') return readEnum(match[2] ?? '');
  if (match?.[1] === 'ref') {
    const [service = '', record = '', ...more] = (match[2] ?? '').trim().split('.');
    if (service !== '' && record !== '' && more.length === 0) {
      return { ok: true, type: { kind: 'ref', record }, service };
    }
    return { ok: false, why: `"${text}" names no record`, remedy: 'write ref[service.record]' };
  }
  return {
    ok: false,
    why: `"${text}" is no type${didYouMean(text, PLAIN)}`,
    remedy: `write one of ${FIELD_TYPE_WORDS}`,
  };
}

function readEnum(inside: string): ReadType {
  const values = inside.split(',').map((each) => each.trim().replace(/^(["'])(.*)\1$/, '$2'));
  const remedy = 'write enum[a, b] with words of letters, digits and _.:-, each once';
  const odd = values.find((each) => !WORD.test(each));
  if (odd !== undefined) return { ok: false, why: `"${odd}" is no word of an enum`, remedy };
  if (new Set(values).size !== values.length || values.length > ENUM_VALUES_MAX) {
    return { ok: false, why: 'the words of an enum stand once each, at most 256', remedy };
  }
  return { ok: true, type: { kind: 'enum', values }, service: '' };
}

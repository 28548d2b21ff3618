import { SimError } from './errors.ts';

/**
 * Readers of decoded documents (CBOR or JSON): each takes an unknown value and either returns it
 * with its type or throws `bundle/shape` with the path to what is wrong. Unknown fields and
 * variants are refused (CR-53).
 */
export type Read<T> = (value: unknown, path: string) => T;

export function readText(lengthMax = 4096): Read<string> {
  return (value, path) => {
    if (typeof value !== 'string') refuse(path, 'it is not text');
    if (value.length > lengthMax) refuse(path, `it is longer than ${lengthMax} characters`);
    return value;
  };
}

/** A whole number within [min, max]. */
export function readInteger(min = 0, max = Number.MAX_SAFE_INTEGER): Read<number> {
  return (value, path) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
      refuse(path, 'it is not a whole number');
    }
    if (value < min || value > max) refuse(path, `${value} is not within ${min} to ${max}`);
    return value;
  };
}

export function readBytes(lengthMax: number): Read<Uint8Array> {
  return (value, path) => {
    if (!(value instanceof Uint8Array)) refuse(path, 'it is not a byte string');
    if (value.length > lengthMax) refuse(path, `it is longer than ${lengthMax} bytes`);
    return value;
  };
}

/** Lower-case hexadecimal digits, exactly `length` of them. */
export function readHex(length: number): Read<string> {
  return (value, path) => {
    const fits = typeof value === 'string' && value.length === length && /^[0-9a-f]*$/.test(value);
    if (!fits) refuse(path, `it is not ${length} hexadecimal digits`);
    return value;
  };
}

export function readBoolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') refuse(path, 'it is not true or false');
  return value;
}

/** Exactly one of the words. */
export function readWord<const T extends string>(words: readonly T[]): Read<T> {
  return (value, path) => {
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) refuse(path, `it is not one of ${words.join(', ')}`);
    return word;
  };
}

export function readNullable<T>(read: Read<T>): Read<T | null> {
  return (value, path) => (value === null ? null : read(value, path));
}

export function readList<T>(read: Read<T>, countMax: number): Read<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) refuse(path, 'it is not a list');
    if (value.length > countMax) refuse(path, `it has more than ${countMax} items`);
    return value.map((item: unknown, index) => read(item, `${path}[${index}]`));
  };
}

export function readPair<A, B>(first: Read<A>, second: Read<B>): Read<readonly [A, B]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length !== 2) refuse(path, 'it is not a pair');
    return [first(value[0], `${path}[0]`), second(value[1], `${path}[1]`)] as const;
  };
}

/** A map with exactly these fields; `optional` ones may be absent. */
export function readRecord<T extends object>(
  fields: { [K in keyof T]-?: Read<Exclude<T[K], undefined>> },
  optional: readonly (keyof T & string)[] = [],
): Read<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  return (value, path) => {
    const given = asMap(value, path);
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(fields, name)) refuse(join(path, name), 'the field is unknown');
    }
    const record: Partial<T> = {};
    for (const name of names) {
      if (!Object.hasOwn(given, name)) {
        if (optional.includes(name)) continue;
        refuse(join(path, name), 'the field is missing');
      }
      record[name] = fields[name](given[name], join(path, name));
    }
    return record as T;
  };
}

/** A map whose field `kind` says which of the readers applies. */
export function readVariant<T extends { readonly kind: string }>(readers: {
  readonly [K in T['kind']]: Read<Extract<T, { readonly kind: K }>>;
}): Read<T> {
  const kinds = Object.keys(readers) as T['kind'][];
  const readKind = readWord(kinds);
  return (value, path) => {
    const kind = readKind(asMap(value, path)['kind'], join(path, 'kind'));
    const read: Read<T> = readers[kind];
    return read(value, path);
  };
}

/** A map of anything, for `readVariant` and headers. */
export function asMap(value: unknown, path: string): Readonly<Record<string, unknown>> {
  const isMap =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array);
  if (!isMap) refuse(path, 'it is not a map');
  return value as Readonly<Record<string, unknown>>;
}

/**
 * Checks `schema_version` of a document and returns the document's other fields. A version that
 * this reader does not know is refused (`bundle/version`), never guessed at (FB-55).
 */
export function openDocument(
  value: unknown,
  expected: { readonly document: string; readonly version: number },
): Readonly<Record<string, unknown>> {
  const { schema_version: version, ...fields } = asMap(value, expected.document);
  if (version !== expected.version) {
    throw new SimError({
      code: 'bundle/version',
      message:
        `${expected.document} has schema_version ${describe(version)}, ` +
        `this reader knows ${expected.version}`,
      place: `${expected.document}.schema_version`,
      remedy: 'use the version of sim that wrote it',
    });
  }
  return fields;
}

function describe(version: unknown): string {
  return typeof version === 'number' ? String(version) : 'none';
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function refuse(path: string, why: string): never {
  throw new SimError({
    code: 'bundle/shape',
    message: `the document is not as it must be: ${why}`,
    place: path,
  });
}

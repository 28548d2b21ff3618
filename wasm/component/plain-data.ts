/** A deep copy of plain data: primitives, byte arrays, arrays, maps and plain objects. */
export function clonePlain<T>(value: T): T {
  return clone(value) as T;
}

function clone(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return value.slice();
  if (Array.isArray(value)) return value.map(clone);
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [key, clone(item)] as const));
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, clone(item)]));
}

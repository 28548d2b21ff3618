import { realmPart } from '../../scenarios/index.ts';

/**
 * The program that makes a realm hermetic, run in it before anything else. It takes the host, time,
 * chance, locale and shared state away, freezes what is left, and talks to the outside in texts
 * only, so that no object of the host is ever reachable from a script (its `constructor` would be).
 *
 * The value of the program is a function `(bridge) => api`, both in texts of JSON.
 */
export function realmBootstrap(): string {
  return `(() => {
'use strict';
const { hidden, takeAway } = ${realmPart('hermetic')}();
takeAway();
${BOOTSTRAP}
})()`;
}

const BOOTSTRAP = `
const { parse, stringify } = JSON;
const { freeze, getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf } = Object;
const isPromise = Promise.prototype.then;
const TOO_DEEP = 'Maximum call stack size exceeded';
Error.stackTraceLimit = 0;
Object.defineProperty(Math, 'random', { value: () => {
  throw new TypeError('Math.random is not at hand: draw with draws.below');
} });
// Transcendental functions may differ between engines and processors.
for (const name of ['sin', 'cos', 'tan', 'exp', 'expm1', 'log', 'log1p', 'log2', 'log10', 'atan2',
  'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'cbrt', 'hypot', 'pow']) {
  delete Math[name];
}
class Refusal extends Error {
  constructor(message) {
    super(message);
    this.kind = 'refused';
  }
}
Refusal.prototype.name = 'Refusal';
const global = globalThis;
for (const name of ['Date', 'globalThis']) delete global[name];
const seen = new Set();
const harden = (value) => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
  if (seen.has(value) || value === global) return;
  seen.add(value);
  freeze(value);
  harden(getPrototypeOf(value));
  for (const key of Reflect.ownKeys(value)) {
    const { value: inner, get, set } = getOwnPropertyDescriptor(value, key);
    harden(inner);
    harden(get);
    harden(set);
  }
};
for (const name of getOwnPropertyNames(global)) {
  const value = global[name];
  harden(value);
  Object.defineProperty(global, name, { value, writable: false, configurable: false });
}
hidden().forEach(harden);
harden(Refusal);
const frozen = (value) => {
  if (typeof value !== 'object' || value === null) return value;
  for (const key of Reflect.ownKeys(value)) frozen(value[key]);
  return freeze(value);
};
const require = (name) => {
  if (name === 'athanor') return freeze({ Refusal });
  throw new Error('a script imports nothing: ' + stringify(name) + ' is not at hand');
};
const programs = new Map();
const load = (name) => {
  const exports = {};
  const program = programs.get(name);
  if (program === undefined) throw new Error('there is no module ' + name);
  program(exports, { exports }, require, Refusal, caught);
  return exports;
};
const failure = (error) => {
  const isError = error instanceof Error;
  const kind = isError && error instanceof Refusal ? 'refusal' : 'crash';
  const message = isError ? (kind === 'crash' ? error.name + ': ' : '') + error.message : 'it threw no Error';
  return stringify({ kind, refusal: isError ? error.kind : undefined, message: String(message) });
};
const reply = (value) => {
  if (value !== null && typeof value === 'object' && value.then === isPromise) {
    throw new TypeError('it returned a promise: handlers and models do not wait');
  }
  return '{"kind":"value","value":' + (stringify(value) ?? 'null') + '}';
};
// How deep calls can nest is decided by the host's stack: a script that gets there is broken, whatever it catches.
let broken = null;
const caught = (error) => {
  const foreign = typeof error === 'object' && error !== null && !(error instanceof Object) && getPrototypeOf(error) !== null;
  if (!foreign && !(error instanceof RangeError && error.message === TOO_DEEP)) return error;
  broken = new RangeError(TOO_DEEP);
  throw broken;
};
return (bridge) => {
  const ask = (request) => {
    const text = stringify(request);
    let answer;
    try {
      answer = bridge(text);
    } catch {
      // It never throws but where calls nest too deep for it, too; its own error would lead to the host.
      throw new RangeError(TOO_DEEP);
    }
    const { kind, value, refusal, message } = parse(answer);
    if (kind === 'value') return frozen(value);
    if (kind !== 'refusal') throw new Error(message);
    const error = new Refusal(message);
    error.kind = refusal;
    throw error;
  };
  const table = (name) => freeze({
    get: (id) => ask({ do: 'get', table: name, id }),
    all: () => ask({ do: 'all', table: name }),
    where: (values) => ask({ do: 'where', table: name, values }),
    pick: (values) => ask({ do: 'pick', table: name, values }),
    insert: (values) => ask({ do: 'insert', table: name, values }),
    update: (id, values) => ask({ do: 'update', table: name, id, values }),
    delete: (id) => ask({ do: 'delete', table: name, id }),
  });
  const handle = (text) => {
    const { module, name, tables, nowNs, now, args } = parse(text);
    const handler = load(module)[name];
    if (typeof handler !== 'function') throw new Error(module + ' exports no function ' + name);
    const world = Object.create(null);
    for (const each of tables) world[each] = table(each);
    Object.defineProperty(world, 'revision', { get: () => ask({ do: 'revision' }) });
    world.snapshot = () => ask({ do: 'snapshot' });
    world.diff = (old) => ask({ do: 'diff', old });
    const clock = freeze({ nowNs, now: () => now });
    const draws = freeze({ below: (arity) => ask({ do: 'below', arity }) });
    return reply(handler(freeze(world), clock, frozen(args), draws));
  };
  let running = null;
  const start = (text) => {
    const { module, name, input } = parse(text);
    const model = load(module)[name];
    if (typeof model !== 'function') throw new Error(module + ' exports no function ' + name);
    running = model(frozen(input));
    if (typeof running?.next !== 'function') throw new Error(name + ' is no generator function');
    return reply(null);
  };
  const next = (text) => {
    const { done, value } = running.next(frozen(parse(text)));
    return reply({ done: done === true, value: value ?? null });
  };
  const guarded = (run) => (text) => {
    broken = null;
    try {
      const said = run(text);
      return broken === null ? said : failure(broken);
    } catch (error) {
      return failure(broken ?? error);
    }
  };
  return {
    define: (name, program) => programs.set(name, program),
    exportsOf: guarded((name) => reply(Object.keys(load(name)))),
    handle: guarded(handle),
    start: guarded(start),
    next: guarded(next),
  };
};
`;

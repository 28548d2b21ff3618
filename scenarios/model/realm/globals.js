// The globals of bodies beside those of the language: timers of the node's clock, the console, the world's entropy.
(realm, { show, fetchHttp }) => {
  const { call, isOrdered } = realm;
  /** A timer beyond this is never due: no run has as much time. */
  const TIMER_MS_MAX = 2 ** 53 / 1e6;
  const ENTROPY_BYTES_MAX = 65_536;

  function addTimer(ms, everyMs, run) {
    if (typeof run !== 'function') throw new TypeError('a timer runs a function');
    const { current } = realm;
    const id = ++current.lastTimer;
    const delayNs = nanoseconds(ms);
    const nowNs = call('monotonic', isOrdered());
    const { branch } = current;
    const timer = { id, atNs: nowNs + delayNs, everyNs: nanoseconds(everyMs), run, branch };
    // What is never due waits for nothing: it is only there to be cleared.
    if (delayNs < Infinity) current.timers.set(id, timer);
    return id;
  }

  function nanoseconds(ms) {
    const span = Number(ms);
    return span > TIMER_MS_MAX ? Infinity : Math.max(0, Math.round(span * 1e6)) || 0;
  }

  const sleep = (ms) => new Promise((resolve) => void addTimer(ms, 0, resolve));

  const report = (descriptor, values) => {
    call('console', descriptor, `${values.map(show).join(' ')}\n`);
  };
  const random32 = () => Math.floor(Math.random() * 2 ** 32);
  const clear = (id) => void realm.current.timers.delete(id);

  const globals = {
    console: {
      log: (...values) => report(1, values),
      info: (...values) => report(1, values),
      debug: (...values) => report(1, values),
      warn: (...values) => report(2, values),
      error: (...values) => report(2, values),
    },
    performance: { now: () => call('monotonic', isOrdered()) / 1e6 },
    crypto: {
      getRandomValues: (array) => {
        if (!(array.length <= ENTROPY_BYTES_MAX)) {
          throw new RangeError(`getRandomValues() fills at most ${ENTROPY_BYTES_MAX} items`);
        }
        for (let index = 0; index < array.length; index++) array[index] = random32();
        return array;
      },
      randomUUID: () => {
        const hex = Array.from({ length: 4 }, () => {
          return random32().toString(16).padStart(8, '0');
        }).join('');
        const variant = '89ab'[parseInt(hex[16], 16) & 3];
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
      },
    },
    setTimeout: (run, ms = 0, ...args) => addTimer(ms, 0, bound(run, args)),
    setInterval: (run, ms = 0, ...args) => addTimer(ms, Math.max(1, ms) || 1, bound(run, args)),
    setImmediate: (run, ...args) => addTimer(0, 0, bound(run, args)),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
    queueMicrotask: (run) => void Promise.resolve().then(run),
    fetch: (url, options) => fetchHttp(url, options),
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  Math.random = () => call('random');

  function bound(run, args) {
    return typeof run === 'function' ? () => run(...args) : run;
  }

  return { sleep };
};

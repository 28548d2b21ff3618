// Built-ins are shared by all bodies of the process: frozen, so that no body can leave a trace.
(globals, also) => {
  const seen = new Set();
  const behindGetters = [];

  /** A frozen property would keep objects that inherit it from having their own by assignment. */
  function letInherit(prototype) {
    for (const key of ['constructor', 'name', 'message', 'toString', 'valueOf']) {
      const found = Object.getOwnPropertyDescriptor(prototype, key);
      if (found === undefined || !('value' in found)) continue;
      Object.defineProperty(prototype, key, {
        get: () => found.value,
        set(value) {
          Object.defineProperty(this, key, {
            value,
            writable: true,
            configurable: true,
            enumerable: true,
          });
        },
      });
      behindGetters.push(found.value);
    }
  }

  function visit(value) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
    if (seen.has(value) || value === globalThis) return;
    seen.add(value);
    Object.freeze(value);
    visit(Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const { get, set, value: inner } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      [get, set, inner].forEach(visit);
    }
  }

  const errors = Reflect.ownKeys(globalThis)
    .map((name) => globalThis[name]?.prototype)
    .filter((prototype) => prototype === Error.prototype || prototype instanceof Error);
  const own = also.map((each) => each?.prototype).filter((prototype) => prototype instanceof Error);
  [Object.prototype, ...errors, ...own].forEach(letInherit);
  [...also, ...behindGetters].forEach(visit);
  // The global object of a context cannot be frozen: modules get a frozen stand-in under its name.
  for (const key of Reflect.ownKeys(globalThis)) {
    if (key === 'globalThis' || key === globals.turn) continue;
    visit(globalThis[key]);
    globals.facade[key] = globalThis[key];
  }
  for (const key of Reflect.ownKeys(globalThis)) {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, key) ?? {};
    if (key === 'globalThis') continue;
    Object.defineProperty(globalThis, key, { value, writable: false, configurable: false });
  }
  globals.facade.globalThis = globals.facade;
  visit(globals.facade);
};

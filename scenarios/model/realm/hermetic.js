// What a realm must lose to know nothing of its host, and what it must freeze so that nothing is left from one
// script to the next. Used by every realm: of bodies, of handlers and models.
() => {
  // What depends on nothing but its arguments. All else goes: what depends on the engine's memory, on the
  // host's threads, locale or clock, and what a later engine adds.
  const KEPT = [
    'AggregateError',
    'Array',
    'ArrayBuffer',
    'BigInt',
    'BigInt64Array',
    'BigUint64Array',
    'Boolean',
    'DataView',
    'Date',
    'Error',
    'EvalError',
    'Float32Array',
    'Float64Array',
    'Function',
    'Infinity',
    'Int16Array',
    'Int32Array',
    'Int8Array',
    'Iterator',
    'JSON',
    'Map',
    'Math',
    'NaN',
    'Number',
    'Object',
    'Promise',
    'Proxy',
    'RangeError',
    'ReferenceError',
    'Reflect',
    'RegExp',
    'Set',
    'String',
    'Symbol',
    'SyntaxError',
    'TypeError',
    'URIError',
    'Uint16Array',
    'Uint32Array',
    'Uint8Array',
    'Uint8ClampedArray',
    'WeakMap',
    'WeakSet',
    'decodeURI',
    'decodeURIComponent',
    'encodeURI',
    'encodeURIComponent',
    'globalThis',
    'isFinite',
    'isNaN',
    'parseFloat',
    'parseInt',
    'undefined',
  ];

  function takeAway() {
    for (const name of Object.getOwnPropertyNames(globalThis)) {
      if (!KEPT.includes(name)) delete globalThis[name];
    }
    for (const name of KEPT) {
      const { prototype } = globalThis[name] ?? {};
      if (prototype !== undefined) takeLocale(prototype);
    }
    takeLocale(Object.getPrototypeOf(Uint8Array.prototype));
    // Its tables are those of the engine's version of Unicode.
    delete String.prototype.normalize;
    // The last match of whoever matched last.
    for (const name of Object.getOwnPropertyNames(RegExp)) {
      if (/^(\$.|input|last(Match|Paren)|(left|right)Context)$/.test(name)) delete RegExp[name];
    }
  }

  function takeLocale(prototype) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      if (/locale/i.test(name)) delete prototype[name];
    }
  }

  /** What is shared by all scripts of a realm, and that no name leads to. */
  function hidden() {
    const made = [
      async () => {},
      function* () {},
      async function* () {},
      [].values(),
      new Map().entries(),
      new Set().values(),
      ''[Symbol.iterator](),
      ''.matchAll(/a/g),
    ];
    if (typeof Iterator === 'function') {
      made.push([].values().map(String), Iterator.from({ next: () => ({ done: true }) }));
    }
    const prototypes = made.map((each) => Object.getPrototypeOf(each));
    // A later engine has functions there.
    const { get, set } = Object.getOwnPropertyDescriptor(new Error(), 'stack') ?? {};
    return [...prototypes, get, set];
  }

  return { takeAway, hidden };
};

// `Date` of the world: its clock is the node's, its time zone is UTC, and it reads one form of text.
({ call, isOrdered }) => {
  const Plain = Date;
  const { prototype } = Plain;

  /** What a text means. One without a zone is local time, which here is UTC; other forms depend on the engine. */
  function parse(text) {
    if (!/^[+-]?\d{4,6}-\d\d(-\d\d)?(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text)) {
      return NaN;
    }
    return Plain.parse(/T/.test(text) && !/(Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text);
  }

  /** An object that is no date, as the language turns it into a text or a number. */
  function primitive(value) {
    if (typeof value !== 'object' && typeof value !== 'function') return value;
    if (value === null || isDate(value)) return value;
    const exotic = value[Symbol.toPrimitive];
    const ways = exotic == null ? ['valueOf', 'toString'].map((name) => value[name]) : [exotic];
    for (const way of ways) {
      if (typeof way !== 'function') continue;
      const found = Reflect.apply(way, value, exotic == null ? [] : ['default']);
      if ((typeof found !== 'object' && typeof found !== 'function') || found === null)
        return found;
    }
    throw new TypeError('Cannot convert object to primitive value');
  }

  const { getTime } = prototype;
  function isDate(value) {
    try {
      Reflect.apply(getTime, value, []);
      return true;
    } catch {
      return false;
    }
  }

  function argumentsOf(args) {
    if (args.length === 0) return [call('realtime', isOrdered())];
    if (args.length > 1) return [Plain.UTC(...args)];
    const value = primitive(args[0]);
    return [typeof value === 'string' ? parse(value) : value];
  }

  function VirtualDate(...args) {
    if (new.target === undefined) return new VirtualDate().toString();
    return Reflect.construct(Plain, argumentsOf(args), new.target);
  }
  const define = (holder, name, value) => {
    Object.defineProperty(holder, name, { value, writable: true, configurable: true });
  };
  define(VirtualDate, 'name', 'Date');
  define(VirtualDate, 'length', 7);
  define(VirtualDate, 'UTC', Plain.UTC);
  define(VirtualDate, 'now', () => call('realtime', isOrdered()));
  define(VirtualDate, 'parse', (text) => parse(String(text)));
  // The same prototype, so that nothing leads to the one with the host's clock.
  Object.defineProperty(VirtualDate, 'prototype', { value: prototype, writable: false });
  define(prototype, 'constructor', VirtualDate);

  const parts = ['Date', 'FullYear', 'Hours', 'Milliseconds', 'Minutes', 'Month', 'Seconds'];
  for (const part of parts) {
    define(prototype, `get${part}`, prototype[`getUTC${part}`]);
    define(prototype, `set${part}`, prototype[`setUTC${part}`]);
  }
  define(prototype, 'getDay', prototype.getUTCDay);
  delete prototype.getYear;
  delete prototype.setYear;
  define(prototype, 'getTimezoneOffset', () => 0);
  const methods = {
    toString() {
      return Number.isNaN(this.getTime()) ? 'Invalid Date' : this.toISOString();
    },
    toDateString() {
      return this.toString().slice(0, 10);
    },
    toTimeString() {
      return this.toString().slice(11);
    },
  };
  for (const [name, method] of Object.entries(methods)) define(prototype, name, method);
  define(globalThis, 'Date', VirtualDate);
};

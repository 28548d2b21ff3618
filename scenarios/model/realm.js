// The inside of the realm that test bodies run in (see realm.ts). Evaluated once in a context of its own,
// before any other code there; answers the functions that the outside drives it by.
//
// Nothing of the host comes in but texts and numbers: `host(op, text)` answers a text and never throws. Nothing
// that a body can reach is shared between bodies but frozen built-ins.
(() => {
  'use strict';

  const { parse: fromJson, stringify: toJson } = JSON;
  const call = (op, ...args) => {
    const answer = fromJson(current.host(op, toJson(args)));
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value;
  };

  const FaultServer = globalThis.__athanor_FaultServer;
  delete globalThis.__athanor_FaultServer;

  // The guest whose turn it is. Bodies run only within turns.
  let current = null;

  // Things whose behaviour depends on the engine's memory, the host's threads or locale are not there.
  for (const name of [
    'Atomics',
    'FinalizationRegistry',
    'Intl',
    'SharedArrayBuffer',
    'WeakRef',
    'WebAssembly',
    'eval',
    'escape',
    'unescape',
  ]) {
    delete globalThis[name];
  }
  for (const holder of [Array, BigInt, Date, Number, Object, String]) {
    for (const name of Object.getOwnPropertyNames(holder.prototype)) {
      if (/Locale/.test(name)) delete holder.prototype[name];
    }
  }
  delete String.prototype.normalize;

  Math.random = () => call('random');
  installDate();
  installStacks();

  const report = (descriptor, values) => {
    call('console', descriptor, `${values.map(show).join(' ')}\n`);
  };
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
        for (let index = 0; index < array.length; index++) {
          array[index] = Math.floor(Math.random() * 2 ** 32);
        }
        return array;
      },
      randomUUID: () => {
        const hex = Array.from({ length: 4 }, () => {
          return Math.floor(Math.random() * 2 ** 32)
            .toString(16)
            .padStart(8, '0');
        }).join('');
        const variant = '89ab'[parseInt(hex[16], 16) & 3];
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
      },
    },
    setTimeout: (run, ms = 0, ...args) => addTimer(ms, 0, () => run(...args)),
    setInterval: (run, ms = 0, ...args) => addTimer(ms, Math.max(1, ms), () => run(...args)),
    setImmediate: (run, ...args) => addTimer(0, 0, () => run(...args)),
    clearTimeout: (id) => void current.timers.delete(id),
    clearInterval: (id) => void current.timers.delete(id),
    clearImmediate: (id) => void current.timers.delete(id),
    queueMicrotask: (run) => void Promise.resolve().then(run),
    fetch: (url, options) => fetchHttp(url, options),
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }

  function addTimer(ms, everyMs, run) {
    const id = ++current.lastTimer;
    const delayNs = Math.max(0, Math.round(Number(ms) * 1e6)) || 0;
    const atNs = call('monotonic', isOrdered()) + delayNs;
    const { branch } = current;
    current.timers.set(id, { id, atNs, everyNs: everyMs * 1e6, run, branch });
    return id;
  }

  /** Whether a branch runs whose steps have an order of their own. */
  function isOrdered() {
    return current.group !== null;
  }

  function installDate() {
    const Plain = Date;
    const utc = (text) => {
      // A date without a zone is local time, which here is UTC; other forms depend on the engine.
      if (
        !/^[+-]?\d{4,6}-\d\d(-\d\d)?(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text)
      ) {
        return NaN;
      }
      return Plain.parse(/T/.test(text) && !/(Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text);
    };
    class VirtualDate extends Plain {
      constructor(...args) {
        if (args.length === 0) super(call('realtime', isOrdered()));
        else if (args.length > 1) super(Plain.UTC(...args));
        else if (typeof args[0] === 'string') super(utc(args[0]));
        else super(args[0]);
      }
      static now() {
        return call('realtime', isOrdered());
      }
      static parse(text) {
        return utc(String(text));
      }
      getTimezoneOffset() {
        return 0;
      }
      toString() {
        return Number.isNaN(this.getTime()) ? 'Invalid Date' : this.toISOString();
      }
      toDateString() {
        return this.toString().slice(0, 10);
      }
      toTimeString() {
        return this.toString().slice(11);
      }
    }
    const parts = [
      'Date',
      'Day',
      'FullYear',
      'Hours',
      'Milliseconds',
      'Minutes',
      'Month',
      'Seconds',
    ];
    for (const part of parts) {
      VirtualDate.prototype[`get${part}`] = Plain.prototype[`getUTC${part}`];
      if (part !== 'Day') VirtualDate.prototype[`set${part}`] = Plain.prototype[`setUTC${part}`];
    }
    Object.defineProperty(VirtualDate, 'name', { value: 'Date' });
    globalThis.Date = VirtualDate;
    Plain.prototype.constructor = VirtualDate;
  }

  // Stacks name places of the spec and nothing of the host. Whether the engine knows who waits for a function
  // depends on how the realm is driven: such frames are left out.
  function installStacks() {
    Error.stackTraceLimit = 20;
    Error.prepareStackTrace = (error, frames) => {
      const own = frames.filter((frame) => {
        return !frame.isAsync() && String(frame.getFileName()).startsWith('spec:');
      });
      const lines = own.map((frame) => {
        const name = frame.getFunctionName() ?? 'body';
        const file = String(frame.getFileName()).slice(5);
        return `\n    at ${name} (${file}:${frame.getLineNumber()}:${frame.getColumnNumber()})`;
      });
      return `${error.name}: ${error.message}${lines.join('')}`;
    };
  }

  function show(value) {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (typeof value === 'object' && value !== null) {
      try {
        return toJson(value, (_key, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner));
      } catch {
        return '[object]';
      }
    }
    return String(value);
  }

  // ---- What bodies say ----

  class AssertionError extends Error {}
  AssertionError.prototype.name = 'AssertionError';
  class Halt extends Error {}
  class Assumption extends Error {}

  const equal = (a, b) => Object.is(a, b) || canonical(a) === canonical(b);
  function canonical(value) {
    return toJson(value, (_key, inner) => {
      if (typeof inner === 'bigint') return `${inner}n`;
      if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
      return Object.fromEntries(
        Object.keys(inner)
          .sort()
          .map((key) => [key, inner[key]]),
      );
    });
  }

  const branchOf = (branch) => (typeof branch === 'function' ? branch() : branch);

  const words = {
    // Declarations: what the runner learns when it loads the spec. Each answers what others refer to.
    determinism: () => undefined,
    service: (name, options = {}) => {
      if (typeof options.body !== 'function') return declare('service', name, options);
      current.bodies.set(`service:${name}`, options.body);
      return declare('service', name, { ...options, model: true });
    },
    faultAssumption: (name, options) => declare('assumption', name, options),
    scenario: (name, ...rest) => declareBody('scenario', name, rest),
    test: (name, ...rest) => void declareBody('test', name, rest),
    faultScenario: (name, options) => void declare('faultScenario', name, options),
    faultMatrix: (options) => void declare('faultMatrix', '', options),
    // Words of bodies.
    choose: (first, second) => {
      const options = second ?? first;
      if (!Array.isArray(options) || options.length === 0) {
        throw new TypeError('the options of choose() are no list with at least one item');
      }
      if (second === undefined) return options[0];
      return options[call('choose', String(first), options.length, options.map(show))];
    },
    parallel: async (...args) => {
      const last = args.at(-1);
      const options =
        typeof last === 'object' && last !== null && !('then' in last) ? args.pop() : {};
      const { interleavings = 1, level = interleavings === 'dpor' ? 'event' : 'launch' } = options;
      const number = ++current.parallels;
      if (level === 'event') return orderSteps(args, number, interleavings, options[SHARED]);
      if (level !== 'launch') throw new TypeError(`${show(level)} is no level of parallel()`);
      const order = call('order', number, args.length, interleavings);
      const started = [];
      for (const [rank, branch] of order.entries()) {
        if (rank > 0) await sleep(call('gap') / 1e6);
        started[branch] = branchOf(args[branch]);
      }
      return Promise.all(started);
    },
    waitAll: (...branches) => Promise.all(branches.map(branchOf)),
    waitFirst: (...branches) => Promise.race(branches.map(branchOf)),
    waitN: (count, ...branches) => {
      if (!Number.isInteger(count) || count < 1 || count > branches.length) {
        throw new TypeError(`waitN() cannot wait for ${count} of ${branches.length} branches`);
      }
      return new Promise((resolve, reject) => {
        const done = [];
        let failed = 0;
        branches.forEach((branch) => {
          Promise.resolve(branchOf(branch)).then(
            (value) => done.push(value) === count && resolve(done.slice()),
            (error) => ++failed > branches.length - count && reject(error),
          );
        });
      });
    },
    halt: (reason) => {
      throw new Halt(String(reason));
    },
    assume: (holds) => {
      if (!holds) throw new Assumption('the leaf is outside what the test assumes');
    },
    assert: (holds, message = 'a condition does not hold') => {
      call('asserted');
      if (!holds) throw new AssertionError(message);
    },
    assertEqual: (actual, expected, message) => {
      call('asserted');
      if (equal(actual, expected)) return;
      const what = `expected ${show(expected)}, got ${show(actual)}`;
      throw new AssertionError(message === undefined ? what : `${message}: ${what}`);
    },
    sleep: (ms) => sleep(ms),
    connect: (host, port) => connect(host, port),
    listen: (port) => listen(port),
    faultServer: (options) => faultServer(options),
    readFile: (path) => bytesOf(call('readFile', path, isOrdered())),
    writeFile: (path, data) => void call('writeFile', path, latin1(data), isOrdered()),
  };

  /** Which branches share memory, as the image says it (see branch-memory.ts). */
  const SHARED = 'athanor:shared';

  /**
   * Branches of which one goes on at a time, by a decision, when the world has come to rest. They begin in
   * steps of their own; when all have ended, or one has failed, the body goes on in a last step.
   */
  function orderSteps(branches, number, policy, shared) {
    if (current.group !== null) {
      throw new Error('a branch whose steps are ordered cannot order the steps of others');
    }
    if (branches.some((branch) => typeof branch !== 'function')) {
      throw new TypeError('branches whose steps are ordered are functions, not what they promised');
    }
    call('group', number, branches.length, policy, shared ?? null);
    const guest = current;
    return new Promise((resolve, reject) => {
      const results = [];
      let left = branches.length;
      const group = { number, starts: new Map(), join: left === 0 ? () => resolve([]) : null };
      branches.forEach((run, branch) => {
        group.starts.set(branch, () => {
          new Promise((settle) => void settle(run())).then(
            (value) => {
              results[branch] = value;
              if (--left === 0) group.join ??= () => resolve(results);
            },
            (error) => {
              call('cut');
              group.join ??= () => reject(error);
            },
          );
        });
      });
      guest.group = group;
    });
  }

  const sleep = (ms) => new Promise((resolve) => void addTimer(ms, 0, resolve));

  // ---- Sockets ----

  const until = (socket, readiness) => {
    const { branch } = current;
    return new Promise((resolve) => current.waiters.push({ socket, readiness, resolve, branch }));
  };
  const latin1 = (data) => {
    if (typeof data === 'string') return utf8(data);
    let text = '';
    for (const byte of data) text += String.fromCharCode(byte);
    return text;
  };
  const utf8 = (text) => unescape8(encodeURIComponent(text));
  const unescape8 = (text) =>
    text.replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  const bytesOf = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const textOf = (binary) => {
    const escaped = binary.replace(
      /[^]/g,
      (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
    try {
      return decodeURIComponent(escaped);
    } catch {
      return binary;
    }
  };

  class Connection {
    #socket;
    constructor(socket) {
      this.#socket = socket;
    }
    async send(data) {
      let left = latin1(data);
      while (left !== '') {
        const sent = call('send', this.#socket, left);
        if (sent > 0) left = left.slice(sent);
        else await until(this.#socket, 'write');
      }
    }
    /** The next bytes that came, or null at the end of the stream. */
    async receive() {
      for (;;) {
        const found = call('receive', this.#socket);
        if (found === null) await until(this.#socket, 'read');
        else return found === '' ? null : bytesOf(found);
      }
    }
    /** The next bytes as text, or null at the end of the stream. */
    async receiveText() {
      const bytes = await this.receive();
      return bytes === null ? null : textOf(latin1(bytes));
    }
    close() {
      call('close', this.#socket);
    }
  }

  async function connect(host, port) {
    const socket = call(
      'connect',
      typeof host === 'object' ? host.name : String(host),
      Number(port),
    );
    while (!call('connected', socket)) await until(socket, 'write');
    return new Connection(socket);
  }

  function listen(port) {
    const socket = call('listen', Number(port), isOrdered());
    return {
      async accept() {
        for (;;) {
          const found = call('accept', socket);
          if (found !== null) return new Connection(found);
          await until(socket, 'read');
        }
      },
      close: () => call('close', socket),
    };
  }

  const tools = { listen, connect, sleep, bytesOf, latin1, utf8, toJson };
  const faultServer = (options) => {
    const script = FaultServer.read(options);
    return () => new FaultServer(tools, script).run();
  };

  /** HTTP/1.1 with one connection a request: what a body needs to talk to a service. */
  async function fetchHttp(url, { method = 'GET', headers = {}, body = '' } = {}) {
    const match = /^http:\/\/([^:/]+)(?::(\d+))?(\/[^#]*)?$/.exec(url);
    if (match === null) throw new TypeError(`fetch() knows http://host:port/path, not ${url}`);
    const [, host, port = '80', path = '/'] = match;
    const content = typeof body === 'string' ? utf8(body) : latin1(body);
    const lines = Object.entries({
      host: `${host}:${port}`,
      connection: 'close',
      'content-length': String(content.length),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    const connection = await connect(host, Number(port));
    await connection.send(bytesOf(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`));
    let text = '';
    for (;;) {
      const piece = await connection.receive();
      if (piece === null) break;
      text += latin1(piece);
      const whole = readResponse(text, false);
      if (whole !== null) {
        connection.close();
        return whole;
      }
    }
    connection.close();
    const response = readResponse(text, true);
    if (response === null) throw new Error(`the connection to ${host}:${port} ended in mid-answer`);
    return response;
  }

  function readResponse(text, ended) {
    const split = text.indexOf('\r\n\r\n');
    if (split < 0) return null;
    const [first, ...rest] = text.slice(0, split).split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? NaN);
    if (Number.isNaN(status)) throw new Error(`not an answer of HTTP: ${first.slice(0, 60)}`);
    const headers = Object.fromEntries(
      rest.map((line) => {
        const at = line.indexOf(':');
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
      }),
    );
    const length = headers['content-length'];
    let body = text.slice(split + 4);
    if (length !== undefined) {
      if (body.length < Number(length)) return null;
      body = body.slice(0, Number(length));
    } else if (!ended) return null;
    return {
      status,
      ok: status >= 200 && status < 300,
      headers,
      bytes: async () => bytesOf(body),
      text: async () => textOf(body),
      json: async () => fromJson(textOf(body)),
    };
  }

  // ---- Declaring and running ----

  function declare(kind, name, options) {
    if (current.declared !== null) current.declared.push({ kind, name: String(name), options });
    // Branches may share it: nothing can be written to it.
    return Object.freeze({ declared: kind, name: String(name) });
  }

  function declareBody(kind, name, rest) {
    const body = rest.at(-1);
    const options = rest.length > 1 ? rest[0] : {};
    current.bodies.set(`${kind}:${name}`, body);
    return declare(kind, name, options);
  }

  const reference = (_key, value) => {
    if (typeof value === 'function') return undefined;
    if (typeof value === 'object' && typeof value?.declared === 'string') return value.name;
    return value;
  };

  /** Loads the modules of a spec afresh: what they hold belongs to this guest alone. */
  function load(guest, main, modules) {
    const loaded = new Map();
    const require = (file) => {
      if (file === 'athanor/spec') return words;
      const known = loaded.get(file);
      if (known !== undefined) return known;
      const define = modules[file];
      if (define === undefined) throw new Error(`the spec has no file ${file}`);
      const exports = {};
      loaded.set(file, exports);
      define(require, exports, facade);
      return exports;
    };
    const exports = require(main);
    for (const [name, body] of Object.entries(exports)) {
      if (!name.startsWith('test_') || typeof body !== 'function') continue;
      guest.bodies.set(`def:${name}`, body);
      if (guest.declared !== null) guest.declared.push({ kind: 'def', name, options: {} });
    }
    return guest;
  }

  const finish = (guest, outcome, message) => {
    if (guest.outcome === null) guest.outcome = { outcome, message };
  };

  const describe = (error) => {
    return error instanceof Error ? String(error.stack) : `thrown: ${show(error)}`;
  };

  const guarded = (guest, work) => {
    const before = current;
    current = guest;
    try {
      work();
    } catch (error) {
      end(guest, error);
    } finally {
      current = before;
    }
  };

  function end(guest, error) {
    if (error instanceof Halt) finish(guest, 'halted', error.message);
    else if (error instanceof Assumption) finish(guest, 'filtered', error.message);
    else finish(guest, 'failed', describe(error));
  }

  const turns = {
    /** Begins the body of that name. */
    start(guest, main, modules, key) {
      guarded(guest, () => {
        load(guest, main, modules);
        const body = guest.bodies.get(key);
        if (body === undefined) throw new Error(`the spec has no body ${key}`);
        const done = (async () => body(words))();
        done.then(
          () => finish(guest, 'passed', ''),
          (error) => end(guest, error),
        );
      });
    },

    /**
     * Makes one step: the waiter of that place goes on, the timer of that id, a branch begins, or the body
     * whose branches have ended.
     */
    step(guest, kind, which) {
      guarded(guest, () => {
        if (kind === 'waiter') {
          const [waiter] = guest.waiters.splice(which, 1);
          guest.branch = waiter.branch;
          waiter.resolve();
          return;
        }
        if (kind === 'branch') {
          guest.branch = which;
          const begin = guest.group.starts.get(which);
          guest.group.starts.delete(which);
          begin();
          return;
        }
        if (kind === 'join') {
          const { join } = guest.group;
          guest.group = null;
          guest.branch = null;
          join();
          return;
        }
        const timer = guest.timers.get(which);
        if (timer.everyNs > 0) timer.atNs += timer.everyNs;
        else guest.timers.delete(which);
        guest.branch = timer.branch;
        timer.run();
      });
    },
  };

  let pending = () => undefined;
  globalThis.__athanor_turn = () => {
    const work = pending;
    pending = () => undefined;
    work();
  };

  const facade = {};
  freezeAll();

  const makeGuest = (host, declared) => ({
    host,
    declared,
    bodies: new Map(),
    timers: new Map(),
    lastTimer: 0,
    waiters: [],
    outcome: null,
    // Branches whose steps are ordered, the one of them that runs, and how many `parallel` there were.
    group: null,
    branch: null,
    parallels: 0,
  });

  return {
    /** What a spec declares, as JSON, or how loading it failed. */
    declarations(host, main, modules) {
      const guest = makeGuest(host, []);
      guarded(guest, () => load(guest, main, modules));
      const { declared, outcome } = guest;
      return toJson(outcome === null ? { declared } : { failed: outcome.message }, reference);
    },

    /** A guest of which no body runs yet. */
    open: (host) => makeGuest(host, null),

    /** Says what the next turn does; the turn itself is a script, so that promises go on within it. */
    prepare(kind, ...args) {
      pending = () => turns[kind](...args);
    },

    /** What the guest waits for, as JSON. Reads only. */
    state({ outcome, waiters, timers, group }) {
      if (group !== null) return orderedState(waiters, timers, group, outcome);
      const interests = waiters.map(({ socket, readiness }) => ({ socket, readiness }));
      return toJson({ outcome, interests, timer: earliest(timers, () => true) });
    },

    /** Whose turn it is while the realm's promises run. */
    enter(guest) {
      current = guest;
    },
  };

  /** The timer that is due first, of those wanted; or null. */
  function earliest(timers, isWanted) {
    let next = null;
    for (const { id, atNs, branch } of timers.values()) {
      if (!isWanted(branch)) continue;
      if (next === null || atNs < next.atNs || (atNs === next.atNs && id < next.id)) {
        next = { id, atNs };
      }
    }
    return next;
  }

  /** What each branch waits for; what is of none of them has the branch null. */
  function orderedState(waiters, timers, { number, starts, join }, outcome) {
    const owners = new Set([null, ...starts.keys()]);
    for (const { branch } of [...waiters, ...timers.values()]) owners.add(branch);
    const interests = waiters.map(({ socket, readiness, branch }) => ({
      socket,
      readiness,
      branch,
    }));
    const branches = [...owners].map((branch) => ({
      branch,
      begins: starts.has(branch),
      timer: earliest(timers, (owner) => owner === branch),
    }));
    const timer = earliest(timers, () => true);
    return toJson({ outcome, interests, timer, group: { number, branches, ended: join !== null } });
  }

  // Built-ins are shared by all bodies of the process: frozen, so that no body can leave a trace.
  function freezeAll() {
    const seen = new Set();
    const inheritable = [Object.prototype, Error.prototype, AssertionError.prototype];
    for (const prototype of inheritable) {
      for (const key of ['constructor', 'name', 'message', 'toString', 'valueOf']) {
        const found = Object.getOwnPropertyDescriptor(prototype, key);
        if (found === undefined || !('value' in found)) continue;
        // A frozen property would keep objects that inherit it from having their own by assignment.
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
      }
    }
    const visit = (value) => {
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
      if (seen.has(value) || value === globalThis) return;
      seen.add(value);
      Object.freeze(value);
      visit(Object.getPrototypeOf(value));
      for (const key of Reflect.ownKeys(value)) {
        const { get, set, value: inner } = Object.getOwnPropertyDescriptor(value, key) ?? {};
        [get, set, inner].forEach(visit);
      }
    };
    visit(words);
    [Connection, FaultServer, Halt, Assumption].forEach(visit);
    for (const make of [
      async () => {},
      function* () {},
      async function* () {},
      [][Symbol.iterator](),
    ]) {
      visit(Object.getPrototypeOf(make));
    }
    // The global object of a context cannot be frozen: modules get a frozen stand-in under its name.
    for (const key of Reflect.ownKeys(globalThis)) {
      if (key === 'globalThis') continue;
      visit(globalThis[key]);
      facade[key] = globalThis[key];
      const { value } = Object.getOwnPropertyDescriptor(globalThis, key) ?? {};
      Object.defineProperty(globalThis, key, { value, writable: false, configurable: false });
    }
    facade.globalThis = facade;
    visit(facade);
  }
})();

// The inside of the realm that test bodies run in (see ../realm.ts). Evaluated once in a context of its own, before
// any other code there; answers the functions that the outside drives it by.
//
// Nothing of the host comes in but texts and numbers: `host(op, text)` answers a text and never throws. Nothing
// that a body can reach is shared between bodies but frozen built-ins.
(parts, FaultServer) => {
  const { parse: fromJson, stringify: toJson } = JSON;
  const { hidden, takeAway } = parts.hermetic();
  takeAway();

  const realm = {
    /** The guest whose turn it is. Bodies run only within turns. */
    current: null,
    /** Whether a branch runs whose steps have an order of their own. */
    isOrdered: () => realm.current.group !== null,
    call,
  };

  function call(op, ...args) {
    const text = toJson(args);
    let answer;
    try {
      answer = realm.current.host(op, text);
    } catch {
      // The host never throws but where calls nest too deep for it, too; its own error would lead to it.
      throw new RangeError('Maximum call stack size exceeded');
    }
    const { error, value } = fromJson(answer);
    if (error !== undefined) throw new Error(error);
    return value;
  }

  parts.date(realm);
  const { caught, settle } = parts.errors(realm);
  const text = parts.text();
  const sockets = parts.sockets(realm, text);
  const { sleep } = parts.globals(realm, { ...text, ...sockets });
  const { Connection, connect, listen } = sockets;
  const faultServer = (options) => {
    const script = FaultServer.read(options);
    return () => new FaultServer({ listen, connect, sleep, toJson, ...text }, script).run();
  };
  const { words, ...errors } = parts.words(realm, { ...text, ...sockets, sleep, faultServer });
  const { Halt, Assumption } = errors;

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
      const define = modules.get(file);
      if (define === undefined) throw new Error(`the spec has no file ${text.show(file)}`);
      const exports = {};
      loaded.set(file, exports);
      define(require, exports, facade, caught);
      return exports;
    };
    const exports = require(main);
    for (const [name, body] of Object.entries(exports)) {
      if (!name.startsWith('test_') || typeof body !== 'function') continue;
      guest.bodies.set(`def:${name}`, body);
      if (guest.declared !== null) guest.declared.push({ kind: 'def', name, options: {} });
    }
  }

  const finish = (guest, outcome, message) => {
    if (guest.outcome === null) guest.outcome = { outcome, message };
  };

  /** What an error says, in a text; whatever it does when it is asked. */
  function describe(error) {
    try {
      return error instanceof Error ? String(error.stack) : `thrown: ${text.show(error)}`;
    } catch {
      return 'thrown: something that cannot be shown';
    }
  }

  function end(guest, error) {
    try {
      caught(error);
      if (error instanceof Halt) finish(guest, 'halted', error.message);
      else if (error instanceof Assumption) finish(guest, 'filtered', error.message);
      else finish(guest, 'failed', describe(error));
    } catch (failure) {
      finish(guest, 'failed', describe(failure));
    }
  }

  const guarded = (guest, work) => {
    const before = realm.current;
    realm.current = guest;
    try {
      work();
    } catch (error) {
      end(guest, error);
    } finally {
      realm.current = before;
    }
  };

  const turns = {
    /** Begins the body of that name. */
    start(guest, main, modules, key) {
      guarded(guest, () => {
        load(guest, main, modules);
        const body = guest.bodies.get(key);
        if (body === undefined) throw new Error(`the spec has no body ${key}`);
        settle(
          (async () => body(words))(),
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
      guarded(guest, () => steps[kind](guest, which));
    },
  };

  const steps = {
    waiter(guest, place) {
      const [waiter] = guest.waiters.splice(place, 1);
      guest.branch = waiter.branch;
      waiter.resolve();
    },
    branch(guest, branch) {
      guest.branch = branch;
      const begin = guest.group.starts.get(branch);
      guest.group.starts.delete(branch);
      begin();
    },
    join(guest) {
      const { join } = guest.group;
      guest.group = null;
      guest.branch = null;
      join();
    },
    timer(guest, id) {
      const timer = guest.timers.get(id);
      if (timer.everyNs > 0) timer.atNs += timer.everyNs;
      else guest.timers.delete(id);
      guest.branch = timer.branch;
      timer.run();
    },
  };

  let pending = () => undefined;
  const turn = '__athanor_turn';
  globalThis[turn] = () => {
    const work = pending;
    pending = () => undefined;
    work();
  };

  const facade = {};
  const also = [words, Connection, FaultServer, ...Object.values(errors), ...hidden()];
  parts.freeze({ facade, turn }, also);

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
    /** Modules by their names, in their order. */
    modules: () => new Map(),

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
      realm.current = guest;
    },

    describe,
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
};

// The words of `athanor/spec`: declarations, and what bodies say.
(realm, { show, equal, latin1, bytesOf, sleep, connect, listen, faultServer }) => {
  const { call, isOrdered } = realm;

  class AssertionError extends Error {}
  AssertionError.prototype.name = 'AssertionError';
  class Halt extends Error {}
  class Assumption extends Error {}

  const branchOf = (branch) => (typeof branch === 'function' ? branch() : branch);

  /** What the runner learns when it loads the spec: each declaration answers what others refer to. */
  function declare(kind, name, options) {
    const { declared } = realm.current;
    if (declared !== null) declared.push({ kind, name: String(name), options });
    // Branches may share it: nothing can be written to it.
    return Object.freeze({ declared: kind, name: String(name) });
  }

  function declareBody(kind, name, rest) {
    const body = rest.at(-1);
    const options = rest.length > 1 ? rest[0] : {};
    realm.current.bodies.set(`${kind}:${name}`, body);
    return declare(kind, name, options);
  }

  const declarations = {
    determinism: () => undefined,
    service: (name, options = {}) => {
      if (typeof options.body !== 'function') return declare('service', name, options);
      realm.current.bodies.set(`service:${name}`, options.body);
      return declare('service', name, { ...options, model: true });
    },
    faultAssumption: (name, options) => declare('assumption', name, options),
    scenario: (name, ...rest) => declareBody('scenario', name, rest),
    test: (name, ...rest) => void declareBody('test', name, rest),
    faultScenario: (name, options) => void declare('faultScenario', name, options),
    faultMatrix: (options) => void declare('faultMatrix', '', options),
  };

  const bodyWords = {
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
      const number = ++realm.current.parallels;
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
    const guest = realm.current;
    if (guest.group !== null) {
      throw new Error('a branch whose steps are ordered cannot order the steps of others');
    }
    if (branches.some((branch) => typeof branch !== 'function')) {
      throw new TypeError('branches whose steps are ordered are functions, not what they promised');
    }
    call('group', number, branches.length, policy, shared ?? null);
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

  return { words: { ...declarations, ...bodyWords }, AssertionError, Halt, Assumption };
};

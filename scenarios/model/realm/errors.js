// Errors: stacks that name places of the spec and nothing of the host, and what the host's own stack decided.
(realm) => {
  const { call } = realm;

  // Whether the engine knows who waits for a function depends on how the realm is driven: such frames are left out.
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

  /** Calls that nest too deep for the engine. What the host threw then is of the host: it has another `Object`. */
  function isOverflow(error) {
    if (typeof error !== 'object' || error === null) return false;
    if (error instanceof Error) {
      return error instanceof RangeError && error.message === 'Maximum call stack size exceeded';
    }
    return !(error instanceof Object) && Object.getPrototypeOf(error) !== null;
  }

  /**
   * What every `catch` of a spec does first with what it caught. How deep calls can nest depends on the host, so
   * no body may go on from there: the run ends.
   */
  function caught(error) {
    if (isOverflow(error)) call('overflow');
    return error;
  }

  /** The same for what a promise was rejected with, which has to go its way. */
  function passed(error) {
    try {
      return caught(error);
    } catch {
      return error;
    }
  }

  const { then } = Promise.prototype;
  Object.defineProperty(Promise.prototype, 'then', {
    value: {
      then(onValue, onError) {
        const guarded = typeof onError === 'function' ? (error) => onError(passed(error)) : onError;
        return Reflect.apply(then, this, [onValue, guarded]);
      },
    }.then,
    writable: true,
    configurable: true,
  });

  /** As `promise.then`, for the realm itself. */
  const settle = (promise, onValue, onError) =>
    void Reflect.apply(then, promise, [onValue, onError]);

  return { caught, settle };
};

import type { Decision } from '../kernel/decision.ts';
import type { LoggedEvent } from '../kernel/event-log.ts';
import type { EventWindow, Pair } from './compare.ts';

/**
 * Names what probably made two runs differ (determinism ladder, step 5). A guess from what the
 * logs show: the question that differs, its answer, and what stands around it.
 */
export function likelySource(difference: {
  readonly decision: Pair<Decision> | null;
  readonly event: Pair<LoggedEvent> | null;
  readonly window: EventWindow;
}): string {
  const { decision, event, window } = difference;
  if (event === null) return decision === null ? UNSEEN : fromDecision(decision);
  const { left, right } = event;
  if (left === null || right === null) return 'unknown: one run ended before the other';
  if (reordered(window, event.index)) return 'iteration order: the same effects in another order';
  if (left.kind !== right.kind || left.guest !== right.guest) {
    return 'unknown: the guests went different ways';
  }
  if (left.kind === 'guest/trap') return 'stack depth: a trap came at another point';
  if (left.input === right.input && left.result !== right.result) return fromAnswer(left.kind);
  if (left.input !== right.input) {
    if (BRINGS_BYTES.test(left.kind) || COMPONENT_BRINGS.test(left.kind))
      return fromAnswer(left.kind);
    return 'memory: what the guest computed differs (NaN bits, uninitialised memory, stack depth)';
  }
  if (left.atNs !== right.atNs) return 'clock: the same effect at another time';
  return 'unknown';
}

/** Calls of preview 1 whose logged input also digests the bytes that they brought to the guest. */
const BRINGS_BYTES =
  /(^|\/)(random_get|fd_p?read|fd_readdir|(fd|path)_filestat_get|path_readlink|sock_recv(_from)?)$/;

/** The like of them in WASI 0.2: the logged input also digests what they gave to the component. */
const COMPONENT_BRINGS =
  /^wasi:.*#(\[method\][a-z-]+\.)?((blocking-)?read|read-directory-entry|(stat|readlink|metadata-hash)(-at)?|receive|now|get-(environment|arguments|directories)|get-(insecure-)?random-(bytes|u64))$/;

const UNSEEN =
  'memory: no effect differs, but the state does (NaN bits, uninitialised memory, host I/O)';

function fromDecision({ left, right }: Pair<Decision>): string {
  if (left === null || right === null) return 'unknown: one run ended before the other';
  if (left.stream !== right.stream) return 'iteration order: decisions in another order';
  if (left.arity !== right.arity) return 'unknown: the same question had other answers to choose';
  if (left.choice !== right.choice) return 'entropy: the same question was answered otherwise';
  return 'clock: the same question at another time';
}

/** The same effect on the same inputs gave another result: the host leaked in. */
function fromAnswer(kind: string): string {
  if (/entropy|random/.test(kind)) return 'entropy: random bytes differ';
  if (/clock|time/.test(kind)) return 'clock: a clock was read and differs';
  if (/environ|args|console|fd_|path_|sock_|file|read|receive|write|prestat/.test(kind)) {
    return 'host I/O: the same call gave another result';
  }
  return `unknown: ${kind} gave another result for the same inputs`;
}

/** Whether both sides show the same effects from the difference on, in another order. */
function reordered(window: EventWindow, index: number): boolean {
  const names = (events: readonly LoggedEvent[]): string[] => {
    const after = events.filter((event) => event.index >= index);
    return after.map(({ kind, guest, input }) => `${kind} ${guest} ${input}`);
  };
  const left = names(window.left);
  const right = names(window.right);
  if (left.length < 2 || left[0] === right[0]) return false;
  const place = right.indexOf(left[0] ?? '');
  const other = left.indexOf(right[0] ?? '');
  return place > 0 && other > 0;
}

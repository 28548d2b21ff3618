import type { Interest } from '../../sim/index.ts';
import type { RealmState, StepKind } from './realm.ts';

/** How a body goes on. */
export interface BranchStep {
  readonly kind: StepKind;
  readonly which: number;
}

/** What a step depends on: sockets, and the node's clock. */
export interface ReadySigns {
  readonly isReady: (interest: Interest) => boolean;
  readonly nowNs: () => number;
}

/**
 * The first thing that is ready: sockets in the order of waiting, then the timer that is due; of one
 * branch, or without one of everything. Null where nothing is.
 */
export function nextStep(
  { interests, timer, group }: RealmState,
  { isReady, nowNs }: ReadySigns,
  branch?: number | null,
): BranchStep | null {
  const own = group?.branches.find((each) => each.branch === branch);
  if (own?.begins === true) return { kind: 'branch', which: own.branch ?? 0 };
  const ready = interests.findIndex((interest) => {
    return (branch === undefined || interest.branch === branch) && isReady(interest);
  });
  if (ready >= 0) return { kind: 'waiter', which: ready };
  const first = branch === undefined ? timer : (own?.timer ?? null);
  return first !== null && first.atNs <= nowNs() ? { kind: 'timer', which: first.id } : null;
}

/** Between two looks at whether the world has come to rest: first so long, then twice as long each time. */
const FIRST_LOOK_NS = 1_000_000;
/** A world that has not come to rest by then is taken as it is: something in it never rests. */
const HOLD_NS_MAX = 1_000_000_000;

/**
 * Holds branches back until what the last step did has had its effects: orders are then of whole steps
 * with all that comes of them, at any latency.
 */
export class OrderHold {
  private sinceNs = -1;
  private lookNs = FIRST_LOOK_NS;
  private until: number | null = null;

  /** When to look again, while branches are held. */
  get untilNs(): number | null {
    return this.until;
  }

  /** Whether branches that could go on are held now. */
  holds(atNs: number, settled: boolean): boolean {
    if (this.sinceNs < 0) this.sinceNs = atNs;
    // Nothing comes of a step at the time of the step itself: every step is looked after at least once.
    const first = this.until === null;
    if (!first && (settled || atNs - this.sinceNs >= HOLD_NS_MAX)) return false;
    if (this.until === null || atNs >= this.until) {
      this.until = atNs + this.lookNs;
      this.lookNs *= 2;
    }
    return true;
  }

  /** A step is made. */
  release(): void {
    this.sinceNs = -1;
    this.lookNs = FIRST_LOOK_NS;
    this.until = null;
  }

  /** Plain data: absent where nothing is held. */
  capture(): { readonly hold?: readonly number[] } {
    return this.until === null ? {} : { hold: [this.sinceNs, this.lookNs, this.until] };
  }

  restore(state: unknown): void {
    this.release();
    const { hold } = state as { readonly hold?: unknown };
    if (!Array.isArray(hold) || !hold.every((part) => Number.isSafeInteger(part))) return;
    const [sinceNs = -1, lookNs = FIRST_LOOK_NS, until = 0] = hold as number[];
    Object.assign(this, { sinceNs, lookNs, until });
  }
}

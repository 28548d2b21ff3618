import type { NetworkEvent } from '../network/network.ts';
import type { BlockEnd } from './machine-input.ts';
import type { PlanPhase } from './plan-actions.ts';

/** What waits in the world's queue. */
export type WorldEvent =
  | { readonly kind: 'network'; readonly event: NetworkEvent }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'start' }
  /** A machine's request to its disk ends, if it still lives the same life. */
  | { readonly kind: 'block'; readonly life: number; readonly end: BlockEnd }
  | {
      readonly kind: 'plan';
      readonly index: number;
      readonly phase: PlanPhase;
      /** The node that a lift is about. */
      readonly node?: number;
    };

/** Whether what the event is about may have ended before it comes: it is the event of a timer. */
export function canLapse(event: WorldEvent): boolean {
  return event.kind === 'deadline' || (event.kind === 'network' && event.event.kind === 'timer');
}

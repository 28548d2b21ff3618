import type { Outcome } from '../kernel/guest.ts';

/** A turn of a guest: from this outcome to its port's horizon. */
export interface Slice {
  readonly node: number;
  readonly outcome: Outcome;
}

/** What the driver must do next. */
export type Step =
  /** Make the node's guest anew and resume it with `outcome`. */
  | { readonly kind: 'start'; readonly node: number }
  /** Throw the node's guest away. */
  | { readonly kind: 'stop'; readonly node: number }
  /**
   * Run these guests, and tell `apply` in this order what each of them did. None can reach another
   * one before its horizon, so that they may run at the same time (see runSlices).
   */
  | { readonly kind: 'resume'; readonly slices: readonly Slice[] }
  | { readonly kind: 'end'; readonly reason: EndReason };

export type EndReason = 'quiescence' | 'property' | 'stopped' | 'virtual-time' | 'quanta';

import type { Outcome } from '../kernel/guest.ts';

/** What the driver must do next. */
export type Step =
  /** Make the node's guest anew and resume it with `outcome`. */
  | { readonly kind: 'start'; readonly node: number }
  /** Throw the node's guest away. */
  | { readonly kind: 'stop'; readonly node: number }
  /** Run the guest, then tell `apply` what happened. */
  | { readonly kind: 'resume'; readonly node: number; readonly outcome: Outcome }
  | { readonly kind: 'end'; readonly reason: EndReason };

export type EndReason = 'quiescence' | 'property' | 'stopped' | 'virtual-time' | 'quanta';

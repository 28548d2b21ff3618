import type { VirtualNs } from '../kernel/units.ts';
import type { RefusalKind } from './refusal.ts';
import type { FaultKind } from './world-def.ts';

/** What became of a call. */
export type CallOutcome =
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly refusal: RefusalKind; readonly message: string }
  | FaultOutcome;

export interface FaultOutcome {
  readonly kind: 'fault';
  readonly fault: FaultKind;
  /** When to come again after an `http_429`: whole seconds, else 0. */
  readonly retryAfterSeconds: number;
  /** What an `empty_result` gives in place of the result. */
  readonly empty: unknown;
}

/** What a `malformed_json` gives in place of a result: JSON that ends too early. */
export const MALFORMED_JSON = '{"result": {"id": 1, "sta';

/** A call that was answered, or not. */
export interface CallReply {
  readonly outcome: CallOutcome;
  readonly latencyNs: VirtualNs;
}

/** What clients are told of an injected failure; nothing that would tell the fake (FH-20). */
export const FAULT_MESSAGES: Readonly<Record<FaultKind, string>> = {
  timeout: 'the request timed out',
  http_500: 'internal server error',
  http_429: 'too many requests',
  not_found: 'not found',
  empty_result: '',
  malformed_json: '',
};

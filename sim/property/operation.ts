import type { VirtualNs } from '../kernel/units.ts';

/** The word for "nothing": a register that was never written, an empty queue, an empty list. */
export const NIL = 'nil';

/** What became of an operation; `open` and `info` may take effect at any time after their call. */
export type OperationStatus = 'open' | 'ok' | 'fail' | 'info';

/** One operation of a history, as its client saw it. */
export interface Operation {
  /** Its place among all operations of the run, in the order in which their calls were told. */
  readonly index: number;
  readonly node: number;
  /** Node and client, for people: `n1/c3`. */
  readonly client: string;
  readonly id: string;
  /** Its name in the table of functions. */
  readonly function: string;
  /** The arguments; the first is the key where the function has one. */
  readonly args: readonly string[];
  readonly status: OperationStatus;
  /** What `ok` brought back. */
  readonly result: readonly string[];
  readonly calledNs: VirtualNs;
  /** When the client learnt how it ended, or null while it is open. */
  readonly returnedNs: VirtualNs | null;
}

/** `write x 3`, for people. */
export function describeCall(operation: Operation): string {
  return [operation.function, ...operation.args].join(' ');
}

/** What came back: `2`, `ok`, `unknown` or `no reply`. */
export function describeReply(operation: Operation): string {
  switch (operation.status) {
    case 'ok':
      return operation.result.length === 0 ? 'ok' : operation.result.join(' ');
    case 'fail':
      return 'failed';
    case 'info':
      return 'unknown';
    case 'open':
      return 'no reply';
  }
}

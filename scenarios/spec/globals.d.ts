/**
 * The globals that bodies of specs have beside those of the language: virtual timers, the console, the
 * world's entropy, HTTP on the simulated network. Kept out of our own build, which has the host's.
 */
declare const console: Readonly<
  Record<'log' | 'info' | 'debug' | 'warn' | 'error', (...values: readonly unknown[]) => void>
>;
declare const performance: { readonly now: () => number };
declare const crypto: {
  getRandomValues<T extends { readonly length: number; [index: number]: number }>(array: T): T;
  randomUUID(): string;
};
declare function setTimeout<A extends readonly unknown[]>(
  run: (...args: A) => void,
  ms?: number,
  ...args: A
): number;
declare function setInterval<A extends readonly unknown[]>(
  run: (...args: A) => void,
  ms?: number,
  ...args: A
): number;
declare function setImmediate<A extends readonly unknown[]>(
  run: (...args: A) => void,
  ...args: A
): number;
declare function clearTimeout(id: number | undefined): void;
declare function clearInterval(id: number | undefined): void;
declare function clearImmediate(id: number | undefined): void;
declare function queueMicrotask(run: () => void): void;

/** An answer of HTTP/1.1. */
interface Response {
  readonly status: number;
  readonly ok: boolean;
  /** By names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
  json(): Promise<unknown>;
}
/** HTTP/1.1 without TLS on the simulated network: `http://host:port/path`. */
declare function fetch(
  url: string,
  options?: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Uint8Array;
  },
): Promise<Response>;

import { ERRNO } from '../kernel/errno.ts';
import { readInteger, readRecord, type Read } from '../kernel/shape.ts';
import { NS_PER_S, VIRTUAL_NS_MAX } from '../kernel/units.ts';

interface OptionRule {
  readonly initial: number;
  /** Values below and above are moved to these, as `setsockopt` of usual systems does. */
  readonly min: number;
  readonly max: number;
}

const flag = { initial: 0, min: 0, max: 1 };
const bufferBytes = { initial: 128 * 1024, min: 4 * 1024, max: 4 * 1024 * 1024 };
const timeoutNs = { initial: 0, min: 0, max: VIRTUAL_NS_MAX };

/**
 * What can be set on a socket. Times are in nanoseconds, sizes in bytes. With `linger` on and
 * `linger-seconds` 0, `close` resets the connection; other values close as if it were off, since
 * `close` never blocks. `broadcast`, `hop-limit` and the four `keep-alive` values are kept and
 * have no effect. The two `…-timeout` values are kept for whoever blocks.
 */
export const SOCKET_OPTIONS = {
  'reuse-address': flag,
  'no-delay': flag,
  'receive-buffer': bufferBytes,
  'send-buffer': bufferBytes,
  linger: flag,
  'linger-seconds': { initial: 0, min: 0, max: 65_535 },
  'receive-timeout': timeoutNs,
  'send-timeout': timeoutNs,
  broadcast: flag,
  'hop-limit': { initial: 64, min: 1, max: 255 },
  'keep-alive': flag,
  'keep-alive-idle': { initial: 7_200 * NS_PER_S, min: NS_PER_S, max: VIRTUAL_NS_MAX },
  'keep-alive-interval': { initial: 75 * NS_PER_S, min: NS_PER_S, max: VIRTUAL_NS_MAX },
  'keep-alive-count': { initial: 9, min: 1, max: 127 },
} as const satisfies Record<string, OptionRule>;

export type SocketOptionName = keyof typeof SOCKET_OPTIONS;
export type OptionValues = Readonly<Record<SocketOptionName, number>>;

const NAMES = Object.keys(SOCKET_OPTIONS) as readonly SocketOptionName[];
const INITIAL = Object.fromEntries(
  NAMES.map((name) => [name, SOCKET_OPTIONS[name].initial]),
) as OptionValues;

/** Reads saved options. */
export const readOptions: Read<OptionValues> = readRecord(
  Object.fromEntries(
    NAMES.map((name) => [name, readInteger(SOCKET_OPTIONS[name].min, SOCKET_OPTIONS[name].max)]),
  ) as { [Name in SocketOptionName]: Read<number> },
);

function isOption(name: string): name is SocketOptionName {
  return Object.hasOwn(SOCKET_OPTIONS, name);
}

/** The options of one socket. */
export class SocketOptions {
  values: OptionValues = INITIAL;

  /** The value, or `-NOPROTOOPT`. */
  read(name: string): number {
    return isOption(name) ? this.values[name] : -ERRNO.NOPROTOOPT;
  }

  /** Sets an option to the nearest allowed value: 0, or `-NOPROTOOPT`, `-INVAL`. */
  write(name: string, value: number): number {
    if (!isOption(name)) return -ERRNO.NOPROTOOPT;
    if (!Number.isSafeInteger(value)) return -ERRNO.INVAL;
    const rule = SOCKET_OPTIONS[name];
    this.values = { ...this.values, [name]: Math.min(rule.max, Math.max(rule.min, value)) };
    return 0;
  }
}

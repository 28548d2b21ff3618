import {
  CALL_CONNECTION,
  decodeUtf8,
  TARGET_LENGTH_MAX,
  type CallAnswer,
  type CallClient,
} from '../../sim/index.ts';
import type { HostFunction } from '../runtime/host-set.ts';
import { bytesNs, COST_NS } from './costs.ts';
import type { Host } from './host.ts';

/** Bytes of the arguments of a call at most. */
export const CALL_BYTES_MAX = 1024 * 1024;

/** `(target, length, arguments, length, timeout in ns, call, room, size of the room, reply)`. */
export const CALL_SIGNATURE = 'iiiiIiiii:i';

/**
 * `athanor.call`: one attempt to call `<node>.<operation>` with a JSON object of arguments. It gives
 * the status of HTTP, -1 where there is no connection, -2 where the caller's time is up. The answer
 * is copied to the room, as far as it fits; `reply` takes its whole size and what a retry-after
 * header said in milliseconds, two words. A bad address is a trap.
 */
export function makeCall(host: Host, client: CallClient): HostFunction {
  const { context, memory } = host;
  return (...args) => {
    const [target, targetSize, body, bodySize, , , room, roomSize, reply] = args.map((each) => {
      return Number(BigInt.asUintN(32, BigInt(each)));
    }) as [number, number, number, number, number, number, number, number, number];
    if (!client.isPending) {
      for (const [address, size] of [
        [target, targetSize],
        [body, bodySize],
        [room, roomSize],
        [reply, 8],
      ] as const) {
        if (memory.holds(address, size)) continue;
        context.trap('out-of-bounds-memory', 'a call lies outside of the memory');
      }
      if (bodySize > CALL_BYTES_MAX || targetSize > TARGET_LENGTH_MAX) {
        context.trap('call', `a call has more than ${CALL_BYTES_MAX} bytes, or too long a target`);
      }
      client.begin({
        target: decodeUtf8(memory.view(target, targetSize)),
        body: memory.view(body, bodySize).slice(),
        timeoutNs: timeoutOf(BigInt(args[4] ?? 0n)),
        call: Number(args[5]) >>> 0,
      });
    }
    const polled = client.poll();
    if ('wait' in polled) {
      context.block(polled.wait);
      return CALL_CONNECTION;
    }
    copyAnswer(host, polled.answer, { room, roomSize, reply });
    context.charge(COST_NS.file + bytesNs(polled.answer.body.length));
    return polled.answer.status;
  };
}

function copyAnswer(
  { memory }: Host,
  { body, retryAfterMs }: CallAnswer,
  to: { readonly room: number; readonly roomSize: number; readonly reply: number },
): void {
  const part = body.subarray(0, to.roomSize);
  if (part.length > 0) memory.setBytes(to.room, part);
  memory.setU32(to.reply, body.length);
  memory.setU32(to.reply + 4, retryAfterMs);
}

/** A timeout beyond the end of time, or none, is none. */
function timeoutOf(ns: bigint): number {
  return ns > 0n && ns <= 2n ** 52n ? Number(ns) : 0;
}

import type { HostFunction } from '../runtime/host-set.ts';
import { bytesNs, COST_NS } from './costs.ts';
import type { Host } from './host.ts';

/** Bytes of a marker at most. */
export const MARKER_BYTES_MAX = 65_536;

/**
 * `athanor.marker(address, length)`: says something to the properties of the run (a line of
 * JSON). It has no result: a bad address or too long a text is a trap.
 */
export function makeMarker(host: Host): HostFunction {
  const { context, memory, port } = host;
  return (address, length) => {
    const [start, count] = [Number(address), Number(length) >>> 0];
    if (!memory.holds(start, count)) {
      context.trap('out-of-bounds-memory', 'a marker lies outside of the memory');
    }
    if (count > MARKER_BYTES_MAX) {
      context.trap('marker', `a marker has more than ${MARKER_BYTES_MAX} bytes`);
    }
    port.marker(memory.view(start, count).slice());
    context.charge(COST_NS.file + bytesNs(count));
  };
}

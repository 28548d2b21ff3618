import type { MachineEvent } from '../../bridge/index.ts';

type ConsoleEvent = Extract<MachineEvent, { kind: 'console' }>;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * A serial line gives a byte at a time; here bytes that follow one another on one port become one
 * event at the time of the last of them, up to the end of a line. Carriage returns are left out.
 */
export function joinConsole(events: readonly MachineEvent[]): readonly MachineEvent[] {
  const joined: MachineEvent[] = [];
  let pieces: ConsoleEvent[] = [];
  const flush = (): void => {
    const last = pieces[pieces.length - 1];
    const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
    const plain = bytes.filter((byte) => byte !== CARRIAGE_RETURN);
    if (last !== undefined && plain.length > 0) joined.push({ ...last, bytes: Buffer.from(plain) });
    pieces = [];
  };
  // Devices report in the order in which they come to it; what counts is when something was.
  const inTime = [...events].sort((a, b) => a.atNs - b.atNs);
  for (const event of inTime) {
    if (event.kind !== 'console') {
      flush();
      joined.push(event);
      continue;
    }
    if (pieces[0] !== undefined && pieces[0].port !== event.port) flush();
    pieces.push(event);
    if (event.bytes[event.bytes.length - 1] === LINE_FEED) flush();
  }
  flush();
  return joined;
}

import { formatTime, type VirtualNs } from '../kernel/units.ts';
import { describeCall, describeReply, type Operation } from './operation.ts';

/** A picture shows at most this many operations and this many clients. */
export const PICTURE_OPERATIONS_MAX = 14;
export const PICTURE_CLIENTS_MAX = 6;

const COLUMN_WIDTH_MIN = 12;
const COLUMN_WIDTH_MAX = 24;

interface Moment {
  readonly atNs: VirtualNs;
  readonly operation: Operation;
  readonly reply: boolean;
}

/**
 * Draws operations as a table in plain text: time runs down, one column a client, from call to
 * reply; the blamed reply is marked. It chooses the operations that overlap the blamed one or
 * returned shortly before it, and says how many it leaves out.
 */
export function drawHistory(
  operations: readonly Operation[],
  blamed: Operation,
): readonly string[] {
  const endNs = blamed.returnedNs ?? blamed.calledNs;
  const begun = operations.filter((each) => each.calledNs <= endNs && each.status !== 'fail');
  const shown = choose(begun, blamed);
  const clients = [...new Set(shown.map((each) => each.client))];
  const width = columnWidth(shown);
  const rows = momentsOf(shown, endNs).map((moment) => drawMoment(moment, shown, clients, width));
  const head = ['', ...clients].map((text, at) => pad(text, at === 0 ? TIME_WIDTH : width));
  const lines = [head.join(' ').trimEnd(), ...rows];
  const left = begun.length - shown.length;
  return left === 0 ? lines : [`(${left} further operations are not shown)`, ...lines];
}

const TIME_WIDTH = 16;

/** The blamed operation, then what overlaps it, then what returned last, up to the limits. */
function choose(begun: readonly Operation[], blamed: Operation): readonly Operation[] {
  const endOf = (each: Operation): number => {
    return each.status === 'ok' ? (each.returnedNs ?? Infinity) : Infinity;
  };
  const nearest = begun
    .filter((each) => each.index !== blamed.index)
    .sort((a, b) => {
      const [late, early] = [
        Math.min(endOf(b), blamed.calledNs),
        Math.min(endOf(a), blamed.calledNs),
      ];
      return late - early || b.calledNs - a.calledNs || b.index - a.index;
    });
  const shown = [blamed];
  const clients = new Set([blamed.client]);
  for (const each of nearest) {
    if (shown.length >= PICTURE_OPERATIONS_MAX) break;
    if (!clients.has(each.client) && clients.size >= PICTURE_CLIENTS_MAX) continue;
    clients.add(each.client);
    shown.push(each);
  }
  return shown.sort((a, b) => a.calledNs - b.calledNs || a.index - b.index);
}

function momentsOf(shown: readonly Operation[], endNs: VirtualNs): readonly Moment[] {
  const moments = shown.flatMap((operation): Moment[] => {
    const call = { atNs: operation.calledNs, operation, reply: false };
    const { returnedNs } = operation;
    if (returnedNs === null || returnedNs > endNs) return [call];
    return [call, { atNs: returnedNs, operation, reply: true }];
  });
  return moments.sort((a, b) => {
    return (
      a.atNs - b.atNs || Number(a.reply) - Number(b.reply) || a.operation.index - b.operation.index
    );
  });
}

function drawMoment(
  moment: Moment,
  shown: readonly Operation[],
  clients: readonly string[],
  width: number,
): string {
  const { atNs, operation, reply } = moment;
  const cells = clients.map((client) => {
    if (client !== operation.client) return isOpenAt(shown, client, atNs) ? '|' : '';
    return reply ? `+ ${describeReply(operation)}` : `+ ${describeCall(operation)}`;
  });
  const text = cells.map((cell) => pad(cell, width)).join(' ');
  return `${pad(formatTime(atNs), TIME_WIDTH)} ${text}`.trimEnd();
}

/** Whether a client waits for a reply at that time. */
function isOpenAt(shown: readonly Operation[], client: string, atNs: VirtualNs): boolean {
  return shown.some((each) => {
    return each.client === client && each.calledNs <= atNs && (each.returnedNs ?? Infinity) > atNs;
  });
}

function columnWidth(shown: readonly Operation[]): number {
  const longest = shown.reduce((most, each) => {
    const texts = [describeCall(each), describeReply(each)].map((text) => text.length + 2);
    return Math.max(most, each.client.length, ...texts);
  }, COLUMN_WIDTH_MIN);
  return Math.min(longest, COLUMN_WIDTH_MAX);
}

/** Exactly `width` characters: a longer text ends in a tilde. */
function pad(text: string, width: number): string {
  return text.length <= width ? text.padEnd(width) : `${text.slice(0, width - 1)}~`;
}

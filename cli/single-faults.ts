import { decodeDecisions, LOG_DECISIONS, readWholeLog, type Decision } from '../sim/index.ts';
import type { RunRecord } from './record.ts';

/** A fault that one decision made: a lost packet, a failed write. */
export interface SingleFault {
  readonly atNs: number;
  /** The name of the node that it met: of a packet, the sender. */
  readonly node: string;
  readonly text: string;
}

/**
 * Whether a decision is a fault of its own. What a disk keeps when its power is lost is part of the
 * crash, whichever way it is decided.
 */
export function isSingleFault({ stream, arity, choice }: Decision): boolean {
  if (arity !== 2 || choice !== 1 || stream.endsWith('/disk/crash')) return false;
  return /^(?:link|node)\//.test(stream);
}

/** The single faults of a run, in order. */
export function singleFaultsOf({ schedule }: Pick<RunRecord, 'schedule'>): readonly SingleFault[] {
  const faults: SingleFault[] = [];
  for (const decision of decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))) {
    if (!isSingleFault(decision)) continue;
    const [kind, node = '', ...rest] = decision.stream.split('/').map(decodeURIComponent);
    const what = rest.slice(1).join(' ').replaceAll('-', ' ');
    const { atNs } = decision;
    if (kind === 'node') faults.push({ atNs, node, text: rest.join(' ').replaceAll('-', ' ') });
    else faults.push({ atNs, node, text: `packet to ${rest[0] ?? ''}: ${what}` });
  }
  return faults;
}

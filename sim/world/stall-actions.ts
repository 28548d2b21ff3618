import { assert } from '../kernel/assert.ts';
import type { EventLog } from '../kernel/event-log.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { MachineStalls } from './machine-stalls.ts';
import type { Machines } from './machines.ts';
import type { NodeLives } from './node-lives.ts';
import type { NoteList } from './notes.ts';

/** The parts of the world that a stall acts on. */
export interface StallParts {
  readonly machines: Machines;
  readonly lives: NodeLives;
  readonly notes: NoteList;
  readonly events: EventLog;
}

/** A processor of a machine, counted from 0. */
export interface Processor {
  readonly node: number;
  readonly vcpu: number;
}

/** One more stall holds the processor; says whether it got turns until now. */
export function beginStall(parts: StallParts, { node, vcpu }: Processor, atNs: VirtualNs): boolean {
  const isNew = stallsOf(parts, node).begin(vcpu);
  if (isNew) tell(parts, node, [vcpu], { isOver: false, atNs });
  return isNew;
}

/** One stall of the processor ends; it goes on if that was the last one. */
export function endStall(parts: StallParts, { node, vcpu }: Processor, atNs: VirtualNs): void {
  if (stallsOf(parts, node).end(vcpu)) tell(parts, node, [vcpu], { isOver: true, atNs });
}

/** Every stall of a node ends; a node that is no machine has none. */
export function endAllStalls(parts: StallParts, node: number, atNs: VirtualNs): void {
  const freed = parts.machines.of(node)?.stalls.endAll() ?? [];
  if (freed.length > 0) tell(parts, node, freed, { isOver: true, atNs });
}

function stallsOf({ machines }: StallParts, node: number): MachineStalls {
  const devices = machines.of(node);
  assert(devices !== null, 'only machines have processors that stall');
  return devices.stalls;
}

/** A transition for each of the processors; the machine hears of all at once, if it is on. */
function tell(
  { machines, lives, notes, events }: StallParts,
  node: number,
  vcpus: readonly number[],
  { isOver, atNs }: { readonly isOver: boolean; readonly atNs: VirtualNs },
): void {
  if (lives.isRunning(node)) machines.of(node)?.stallsChanged(atNs);
  for (const vcpu of vcpus) {
    events.append(events.kind('guest/stall'), node, atNs, vcpu, isOver ? 0 : 1);
    const text = `processor ${vcpu} ${isOver ? 'goes on' : 'stalls'}`;
    notes.add({ atNs, node, kind: 'pause', text });
  }
}

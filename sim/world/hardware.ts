import type { Decisions } from '../kernel/decision.ts';
import type { EventLog } from '../kernel/event-log.ts';
import { formatSpan } from '../kernel/units.ts';
import { memoryOfMachine, REGISTERS, type HardwareActionDef } from '../plan/hardware.ts';
import type { MachineDevices } from './machine-devices.ts';
import type { Machines } from './machines.ts';
import { tellMemoryFlip } from './memory-flips.ts';
import type { HardwareTimes } from './plan-actions.ts';
import type { Note } from './timeline.ts';
import { describeAddress, describeBits, drawBits, drawWord, type Draw } from './word-flip.ts';

/** What faults inside nodes touch of the world. */
export interface HardwareHost {
  readonly names: readonly string[];
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly machines: Machines;
  readonly isRunning: (node: number) => boolean;
  readonly note: (note: Note) => void;
}

type Action<K extends HardwareActionDef['kind']> = Extract<HardwareActionDef, { kind: K }>;

/** A machine that a fault happens to. */
interface Struck {
  readonly host: HardwareHost;
  readonly node: number;
  readonly devices: MachineDevices;
  readonly when: HardwareTimes;
}

/**
 * Does a fault inside a node, and says whether it did: not to a node that does not run. What is left
 * open (which word, bit, register, processor) is decided now, on streams of the node's own.
 */
export function strike(
  host: HardwareHost,
  action: HardwareActionDef,
  node: number,
  when: HardwareTimes,
): boolean {
  const { machines, isRunning } = host;
  if (!isRunning(node)) return false;
  const devices = machines.of(node);
  if (devices === null) {
    return action.kind === 'flip-memory' && machines.flips.add(node, action);
  }
  if (!devices.hasRoom) return false;
  const struck: Struck = { host, node, devices, when };
  switch (action.kind) {
    case 'flip-memory':
      return flipMemory(struck, action);
    case 'flip-register':
      return flipRegister(struck, action);
    case 'machine-check':
      return checkMachine(struck, action);
    case 'storm':
      return storm(struck, action);
  }
}

function flipMemory(struck: Struck, { bits: count, range }: Action<'flip-memory'>): boolean {
  const { host, node, devices, when } = struck;
  const { atNs } = when;
  const memory =
    range === undefined
      ? memoryOfMachine(devices.def)
      : [{ from: range.address, to: range.address + range.bytes }];
  const draw = drawOf(struck, 'memory/flip');
  const address = drawWord(draw, memory);
  const bits = drawBits(draw, count);
  devices.strike({ kind: 'flip-memory', atNs, address, bits });
  tellMemoryFlip(host, node, { address, bits }, atNs);
  return true;
}

function flipRegister(struck: Struck, action: Action<'flip-register'>): boolean {
  const { host, node, devices, when } = struck;
  const { decisions, events, note } = host;
  const { atNs } = when;
  const draw = drawOf(struck, 'register/flip');
  const cpu = action.cpu ?? drawCpu(struck, draw);
  const named = action.register === undefined ? -1 : REGISTERS.indexOf(action.register);
  const index =
    named >= 0 ? named : decisions.decide(decisions.stream(draw.of), atNs, REGISTERS.length);
  const bits = drawBits(draw, action.bits);
  const register = REGISTERS[index] ?? REGISTERS[0];
  devices.strike({ kind: 'flip-register', atNs, cpu, register, bits });
  const kind = events.kind('register/flip');
  for (const bit of bits) events.append(kind, node, atNs, bit, cpu * REGISTERS.length + index);
  const text = `${describeBits(bits)} of ${register} of processor ${cpu} flipped`;
  note({ atNs, node, kind: 'plan', text });
  return true;
}

function checkMachine(struck: Struck, action: Action<'machine-check'>): boolean {
  const { host, node, devices, when } = struck;
  const { atNs } = when;
  const { corrected } = action;
  const draw = drawOf(struck, 'machine-check');
  const cpu = action.cpu ?? drawCpu(struck, draw);
  const address = action.address ?? drawWord(draw, memoryOfMachine(devices.def));
  devices.strike({ kind: 'machine-check', atNs, cpu, corrected, address });
  const kind = host.events.kind('machine/check');
  host.events.append(kind, node, atNs, cpu * 2 + (corrected ? 1 : 0), address);
  const how = corrected ? 'a corrected' : 'an uncorrected';
  const text = `processor ${cpu} finds ${how} error at ${describeAddress(address)}`;
  host.note({ atNs, node, kind: 'plan', text });
  return true;
}

function storm({ host, node, devices, when }: Struck, action: Action<'storm'>): boolean {
  const { atNs, untilNs } = when;
  const { line, gapNs } = action;
  // The last one comes before all faults end.
  const count = Math.min(action.count, Math.ceil((untilNs - atNs) / gapNs));
  if (count <= 0) return false;
  devices.strike({ kind: 'storm', atNs, line, count, gapNs });
  host.events.append(host.events.kind('machine/storm'), node, atNs, count, line);
  const text = `${count} interrupts on line ${line}, ${formatSpan(gapNs)} apart`;
  host.note({ atNs, node, kind: 'plan', text });
  return true;
}

function drawOf({ host, node, when }: Struck, what: string): Draw {
  const { decisions, names } = host;
  return { decisions, of: `node/${names[node] ?? ''}/${what}`, atNs: when.atNs };
}

/** Which processor, on the stream `<of>-cpu`. */
function drawCpu({ devices }: Struck, { decisions, of, atNs }: Draw): number {
  return decisions.decide(decisions.stream(`${of}-cpu`), atNs, devices.def.cpus);
}

import { VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import {
  CASCADE_LINE,
  INTERRUPT_LINES,
  memoryOfMachine,
  PROGRAM_PAGE_BYTES,
  REGISTERS,
  STORM_COUNT_MAX,
  MEMORY_WORD_BITS,
  MEMORY_WORD_BYTES,
  type AddressSpan,
  type HardwareActionDef,
} from './hardware.ts';
import type { ActionDef, NodeDef } from './scenario.ts';

/** Whether the action is a fault inside a node. */
export function isHardwareAction(action: ActionDef): action is HardwareActionDef {
  return ['flip-memory', 'flip-register', 'machine-check', 'storm'].includes(action.kind);
}

/**
 * What is wrong with a fault inside one of these nodes at `lastNs` at the latest, or null. Machines
 * have all of them; of other guests only compiled programs have memory of their own (CR-108).
 */
export function complaintOfHardware(
  action: HardwareActionDef,
  nodes: readonly NodeDef[],
  lastNs: VirtualNs,
): string | null {
  const wrong = complaintOfNumbers(action, lastNs);
  if (wrong !== null) return wrong;
  for (const node of action.oneOf) {
    const def = nodes[node];
    const why = def === undefined ? null : complaintOfNode(action, def);
    if (why !== null) return `${NAMES[action.kind]} cannot be done to "${def?.name ?? ''}": ${why}`;
  }
  return null;
}

const NAMES: Readonly<Record<HardwareActionDef['kind'], string>> = {
  'flip-memory': 'a flip in memory',
  'flip-register': 'a flip in a register',
  'machine-check': '"machine-check"',
  storm: '"storm"',
};

function complaintOfNumbers(action: HardwareActionDef, lastNs: VirtualNs): string | null {
  switch (action.kind) {
    case 'flip-memory':
      return complaintOfBits(action.bits) ?? complaintOfRange(action.range);
    case 'flip-register': {
      const known = action.register === undefined || REGISTERS.includes(action.register);
      return complaintOfBits(action.bits) ?? (known ? null : 'there is no such register');
    }
    case 'machine-check':
      if (action.address === undefined || within(action.address, 0, Number.MAX_SAFE_INTEGER)) {
        return null;
      }
      return 'the address is no whole number';
    case 'storm':
      return complaintOfStorm(action, lastNs);
  }
}

function complaintOfBits(bits: number): string | null {
  return within(bits, 1, MEMORY_WORD_BITS)
    ? null
    : `"bits" is within 1 to ${MEMORY_WORD_BITS}: those of a word`;
}

function complaintOfRange(range: { address: number; bytes: number } | undefined): string | null {
  if (range === undefined) return null;
  const { address, bytes } = range;
  const max = Number.MAX_SAFE_INTEGER / 2;
  const whole = within(address, 0, max) && within(bytes, 1, max);
  if (whole && address % MEMORY_WORD_BYTES === 0 && bytes % MEMORY_WORD_BYTES === 0) return null;
  return `"address" and "bytes" are multiples of ${MEMORY_WORD_BYTES}: whole words`;
}

function complaintOfStorm(
  { line, count, gapNs }: Extract<HardwareActionDef, { kind: 'storm' }>,
  lastNs: VirtualNs,
): string | null {
  if (!within(line, 0, INTERRUPT_LINES - 1) || line === CASCADE_LINE) {
    return `"line" is within 0 to ${INTERRUPT_LINES - 1} and not ${CASCADE_LINE}, which has no device`;
  }
  if (!within(count, 1, STORM_COUNT_MAX)) return `"count" is within 1 to ${STORM_COUNT_MAX}`;
  const gapMaxNs = Math.floor((VIRTUAL_NS_MAX - lastNs) / count);
  return within(gapNs, 1, gapMaxNs) ? null : '"gap" is at least 1 ns, and the storm ends in time';
}

function complaintOfNode(action: HardwareActionDef, node: NodeDef): string | null {
  const { guest } = node;
  if (guest.kind !== 'vm') {
    if (action.kind !== 'flip-memory') return 'only machines have processors of their own';
    if (guest.kind !== 'wasm') return 'only machines and compiled programs have memory';
    const bytes = node.memoryPagesMax * PROGRAM_PAGE_BYTES;
    return complaintOfAddresses(action.range, [{ from: 0, to: bytes }]);
  }
  const { machine } = guest;
  if ('cpu' in action && action.cpu !== undefined && !within(action.cpu, 0, machine.cpus - 1)) {
    return `its processors are 0 to ${machine.cpus - 1}, and not ${action.cpu}`;
  }
  const memory = memoryOfMachine(machine);
  if (action.kind === 'flip-memory') return complaintOfAddresses(action.range, memory);
  if (action.kind !== 'machine-check' || action.address === undefined) return null;
  return complaintOfAddresses({ address: action.address, bytes: 1 }, memory);
}

function complaintOfAddresses(
  range: { readonly address: number; readonly bytes: number } | undefined,
  memory: readonly AddressSpan[],
): string | null {
  if (range === undefined) return null;
  const { address, bytes } = range;
  if (memory.some(({ from, to }) => address >= from && address + bytes <= to)) return null;
  const spans = memory.map(({ from, to }) => `${hex(from)} to ${hex(to - 1)}`);
  return `its memory is at ${spans.join(', ')}, and not at ${hex(address)} to ${hex(address + bytes - 1)}`;
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

function within(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

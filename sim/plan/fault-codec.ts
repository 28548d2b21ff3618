import {
  asMap,
  readHex,
  readInteger,
  readList,
  readRecord,
  readText,
  readVariant,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import { MILLION } from '../kernel/units.ts';
import { NODES_MAX } from './admit.ts';
import {
  CLOCK_STEP_NS_MAX,
  DRIFT_PPM_MAX,
  FAULT_FAMILIES,
  type BurstDef,
  type ClockChangeDef,
  type FaultFamily,
  type LinkFaultsDef,
  type LivenessDef,
  type NodeActionDef,
  type NodeClockDef,
  type RedDef,
  type TriggerDef,
} from './faults.ts';
import { MACHINE_CPUS_MAX, readMachine } from './machine.ts';
import { predicateReader } from './predicate-codec.ts';
import type { GuestDef, MachineGuestDef, ProgramGuestDef } from './scenario.ts';

const share = readInteger(0, MILLION);
const step = readInteger(-CLOCK_STEP_NS_MAX, CLOCK_STEP_NS_MAX);
const ppm = readInteger(-DRIFT_PPM_MAX, DRIFT_PPM_MAX);
const indexes = readList(readInteger(), NODES_MAX);

const readProgramGuest = readRecord<ProgramGuestDef>({
  kind: readWord(['wasm', 'record', 'model']),
  image: readHex(64),
  label: readText(),
});

const readMachineGuest = readRecord<MachineGuestDef>({
  kind: readWord(['vm']),
  image: readHex(64),
  label: readText(),
  machine: readMachine,
});

export const readGuest: Read<GuestDef> = (value, path) => {
  const isMachine = asMap(value, path)['kind'] === 'vm';
  return isMachine ? readMachineGuest(value, path) : readProgramGuest(value, path);
};

export const readLinkFaults: Read<LinkFaultsDef> = readRecord<LinkFaultsDef>(
  {
    burst: readRecord<BurstDef>({ enter: share, leave: share, loss: share }),
    duplicate: readRecord({ chance: share, gapNs: readInteger() }),
    reorder: readRecord({ chance: share, windowNs: readInteger() }),
    corrupt: share,
    corruptUndetected: share,
    queueBytes: readInteger(),
    red: readRecord<RedDef>({ fromBytes: readInteger(), toBytes: readInteger(), chance: share }),
    mtu: readRecord({ bytes: readInteger(), oversize: readWord(['drop', 'fragment']) }),
  },
  ['burst', 'duplicate', 'reorder', 'corrupt', 'corruptUndetected', 'queueBytes', 'red', 'mtu'],
);

export const readNodeClock: Read<NodeClockDef> = readRecord<NodeClockDef>({
  offsetNs: step,
  driftPpm: ppm,
});

type Change<K extends ClockChangeDef['kind']> = Extract<ClockChangeDef, { kind: K }>;

export const readClockChange: Read<ClockChangeDef> = readVariant<ClockChangeDef>({
  jump: readRecord<Change<'jump'>>({ kind: readWord(['jump']), byNs: step }),
  drift: readRecord<Change<'drift'>>({ kind: readWord(['drift']), ppm }),
  freeze: readRecord<Change<'freeze'>>({
    kind: readWord(['freeze']),
    clock: readWord(['realtime', 'both']),
  }),
  slew: readRecord<Change<'slew'>>({
    kind: readWord(['slew']),
    byNs: step,
    overNs: readInteger(1),
  }),
  synchronize: readRecord<Change<'synchronize'>>({ kind: readWord(['synchronize']) }),
});

type Action<K extends NodeActionDef['kind']> = Extract<NodeActionDef, { kind: K }>;

/** Readers of the actions of this module, to stand among those of all actions. */
export const NODE_ACTION_READERS: {
  readonly [K in NodeActionDef['kind']]: Read<Action<K>>;
} = {
  kill: readRecord<Action<'kill'>>({ kind: readWord(['kill']), oneOf: indexes }),
  wipe: readRecord<Action<'wipe'>>({ kind: readWord(['wipe']), oneOf: indexes }),
  interrupt: readRecord<Action<'interrupt'>>({ kind: readWord(['interrupt']), oneOf: indexes }),
  upgrade: readRecord<Action<'upgrade'>>({
    kind: readWord(['upgrade']),
    oneOf: indexes,
    guest: readGuest,
  }),
  slow: readRecord<Action<'slow'>>({ kind: readWord(['slow']), oneOf: indexes, cpu: share }),
  stall: readRecord<Action<'stall'>>({
    kind: readWord(['stall']),
    oneOf: indexes,
    vcpu: readInteger(0, MACHINE_CPUS_MAX - 1),
  }),
  clock: readRecord<Action<'clock'>>({
    kind: readWord(['clock']),
    oneOf: indexes,
    change: readClockChange,
  }),
  stick: readRecord<Action<'stick'>>({ kind: readWord(['stick']), from: indexes, to: indexes }),
};

type Trigger<K extends TriggerDef['kind']> = Extract<TriggerDef, { kind: K }>;

export const readTrigger: Read<TriggerDef> = readVariant<TriggerDef>({
  quantum: readRecord<Trigger<'quantum'>>({
    kind: readWord(['quantum']),
    node: readInteger(),
    count: readInteger(1),
  }),
  effect: readRecord<Trigger<'effect'>>({
    kind: readWord(['effect']),
    node: readInteger(),
    effect: readText(),
    count: readInteger(1),
  }),
  decision: readRecord<Trigger<'decision'>>({
    kind: readWord(['decision']),
    stream: readText(),
    ordinal: readInteger(),
  }),
  predicate: readRecord<Trigger<'predicate'>>({
    kind: readWord(['predicate']),
    that: predicateReader(NODES_MAX),
  }),
  hazard: readRecord<Trigger<'hazard'>>({ kind: readWord(['hazard']), meanNs: readInteger(1) }),
});

export const readSwarm: Read<readonly FaultFamily[]> = readList(
  readWord(FAULT_FAMILIES),
  FAULT_FAMILIES.length,
);

export const readLiveness: Read<LivenessDef> = readRecord<LivenessDef>({ atNs: readInteger(1) });

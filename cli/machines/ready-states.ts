import { join } from 'node:path';
import {
  ENGINE_SCHEMA,
  assert,
  bakeScenario,
  encodeCanonical,
  readyNodesOf,
  scenarioIds,
  SimError,
  type NodeDef,
  type ReadyDef,
  type ReadyRecord,
  type ScenarioDef,
} from '../../sim/index.ts';
import { machinesFolder } from '../cache-folder.ts';
import { processHost } from '../host.ts';
import { Progress } from '../progress.ts';
import { sha256Hex } from '../zip.ts';
import { machineStart, type MachinePlace } from './machine-start.ts';
import type { MachineId } from './messages.ts';
import { bake, lateFor, type BakeRequest } from './ready-bake.ts';
import { ReadyCache, type ReadyState } from './ready-entry.ts';

export interface ReadyRequest extends Pick<BakeRequest, 'scenario' | 'host' | 'simulate'> {
  readonly images: ReadonlyMap<string, Uint8Array>;
  /** What a bundle says of ready points: those that are made here must be the same. */
  readonly recorded: readonly ReadyRecord[];
  /** Whether standard error tells what takes long. */
  readonly tells: boolean;
}

/** Raised when equal machines get ready in another way than before. */
const READY_VERSION = 1;

/**
 * The machines of a world that begin where they are ready, by node (CR-55): found in the cache, or
 * brought there now. Errors: `guest/not-ready`; `backend/ready` where it is another point than the
 * one of the bundle; those of machines.
 */
export function findReadyStates(request: ReadyRequest): ReadonlyMap<number, ReadyState> {
  const { scenario, host, recorded } = request;
  const states = new Map<number, ReadyState>();
  for (const [node, ready] of readyNodesOf(scenario.world)) {
    const key = keyOf(scenario, node, ready, host.backend.identity);
    const state = host.readyStates.get(key) ?? find(request, node, ready, key);
    host.readyStates.set(key, state);
    const { name, startNs } = scenario.world.nodes[node] as NodeDef;
    if (state.node.atNs > startNs + ready.withinNs) throw lateFor({ scenario, node, ready });
    const known = recorded.find((each) => each.key === key);
    if (known !== undefined && known.digest !== state.digest) throw otherState(name, known, state);
    states.set(node, state);
  }
  return states;
}

/** A new process where the machine is ready; null if its memory is not what it was. */
export function loadReady(place: MachinePlace, state: ReadyState, gdb: string | null = null) {
  const { host } = place;
  const machine: MachineId = host.newMachine();
  const { folder, course } = state;
  host.ask({ kind: 'restore', machine, start: machineStart(place, course), folder, gdb });
  const { ram, devices } = host.ask({ kind: 'hash', machine });
  if (ram + devices === state.hash) return machine;
  host.ask({ kind: 'close', machine });
  return null;
}

/** Opens the cache's entry and proves it, or makes it anew where there is none that is whole. */
function find(request: ReadyRequest, node: number, ready: ReadyDef, key: string): ReadyState {
  const { scenario, host, images } = request;
  const { nodes } = scenario.world;
  const { guest } = nodes[node] as NodeDef;
  assert(guest.kind === 'vm', 'a machine gets ready');
  const place: MachinePlace = { host, guest, node, nodes, images };
  const folder = join(machinesFolder({ env: process.env, cwd: process.cwd() }), 'ready');
  const cache = new ReadyCache(folder);
  const memoryBytes = guest.machine.memoryMib * 2 ** 20;
  const open = (): ReadyState | null => {
    const found = cache.open(key, memoryBytes);
    return found !== null && isSound(place, found) ? found : null;
  };
  const name = nodes[node]?.name ?? '';
  const progress = new Progress(processHost(), 0, !request.tells);
  const make = (): ReadyState | null => {
    // Somebody else may have made it while this process waited.
    const theirs = open();
    if (theirs !== null) return theirs;
    cache.remove(key);
    const draft = cache.draft();
    try {
      host.onWait = () => progress.tell(`${name} gets ready`);
      cache.keep(draft, key, bake({ ...request, node, ready, folder: draft }));
    } finally {
      host.onWait = null;
      cache.drop(draft);
    }
    return open();
  };
  try {
    const state =
      open() ??
      cache.alone(key, make, (owner) => {
        progress.tell(`${name} gets ready in another process (${owner ?? 'unknown'})`);
      });
    if (state !== null) return state;
  } finally {
    progress.end();
  }
  throw new SimError({
    code: 'store/ready',
    message: `the ready point of ${name} does not stay as it was written`,
    place: `ready point ${key.slice(0, 16)}`,
    remedy: 'look at the disk that holds the cache, and whether something else changes the cache',
  });
}

/** Whether the machine can go on from there; it then stands parked, to be forked. */
function isSound(place: MachinePlace, state: ReadyState): boolean {
  try {
    place.host.park(state, () => {
      const machine = loadReady(place, state);
      if (machine === null) throw damaged(state);
      return machine;
    });
    return true;
  } catch (error) {
    // A checkpoint that QEMU refuses is damaged as well; a QEMU that is missing would be missed again.
    if (error instanceof SimError && /^(store|backend)\//.test(error.code)) return false;
    throw error;
  }
}

/** The ready point is not what was written. */
export function damaged({ key }: ReadyState): SimError {
  return new SimError({
    code: 'store/ready',
    message: `the memory of the ready point ${key.slice(0, 16)} is damaged`,
    remedy: 'run again: it is then made anew',
  });
}

function keyOf(scenario: ScenarioDef, node: number, ready: ReadyDef, identity: string): string {
  const { world } = scenarioIds(bakeScenario(scenario, node, 1));
  const { when } = ready;
  return sha256Hex(
    encodeCanonical([READY_VERSION, ENGINE_SCHEMA, identity, world, node, when as object]),
  );
}

function otherState(name: string, recorded: ReadyRecord, found: ReadyState): SimError {
  return new SimError({
    code: 'backend/ready',
    message:
      `the machine ${name} got ready in another state than in the recorded run: ` +
      `expected ${recorded.digest.slice(0, 16)}, found ${found.digest.slice(0, 16)}`,
    place: 'manifest.machines.ready',
    remedy:
      'run `sim vm setup` and `sim doctor`; a version of sim that boots machines in another way ' +
      'cannot repeat the run: use the version that wrote the bundle',
  });
}

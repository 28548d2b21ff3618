import { workerData } from 'node:worker_threads';
import { Machine, proveMachine, type MachineOptions } from '../../bridge/index.ts';
import { REGISTERS, SimError, type MachineInput } from '../../sim/index.ts';
import { GdbRelay } from './gdb-relay.ts';
import type {
  MachineId,
  MachineReplies,
  MachineReply,
  MachineRequest,
  MachineStart,
  MachineThreadData,
} from './messages.ts';

/** The thread that holds a simulation's machines: it waits for QEMU, and the simulation for it. */
const { backend, counter, port, isPatient } = workerData as MachineThreadData;
const machines = new Map<MachineId, Machine>();
/** Wall time that a machine may take for a run: of Node's timers, the longest. */
const waitMs = isPatient ? 2 ** 31 - 1 : undefined;
/** Where the stub for gdb listens, and who lets a debugger in. */
let stub = '';
let relay: GdbRelay | null = null;

port.on('message', ({ ticket, request }: { ticket: number; request: MachineRequest }) => {
  void answer(request).then(
    (reply) => {
      say({ ticket, reply });
    },
    (error: unknown) => {
      say({ ticket, error: describe(error) });
    },
  );
});

function say(reply: MachineReply): void {
  port.postMessage(reply);
  Atomics.add(counter, 0, 1);
  Atomics.notify(counter, 0);
}

async function answer(request: MachineRequest): Promise<MachineReplies[MachineRequest['kind']]> {
  switch (request.kind) {
    case 'start': {
      const machine = await Machine.start(optionsOf(request.start));
      machines.set(request.machine, machine);
      return { nowNs: machine.nowNs };
    }
    case 'prove':
      await proveMachine(optionsOf(request.start));
      return null;
    case 'restore': {
      const { start, folder, gdb } = request;
      const options = gdb === null ? optionsOf(start) : { ...optionsOf(start), gdb };
      const machine = await Machine.restore(options, folder);
      if (gdb !== null) stub = gdb;
      machines.set(request.machine, machine);
      return { nowNs: machine.nowNs };
    }
    case 'debug':
      relay = await GdbRelay.listen(stub);
      return { port: relay.port };
    case 'attached':
      await relay?.attached;
      return null;
    case 'fork':
      machines.set(request.as, await known(request.machine).fork());
      return null;
    case 'run': {
      const machine = known(request.machine);
      for (const input of request.inputs) await deliver(machine, input);
      return runOn(machine, request.untilNs, request.stopOn);
    }
    case 'hash':
      return known(request.machine).hash();
    case 'compare':
      return differingPages(known(request.left), known(request.right));
    case 'seed':
      await known(request.machine).seedEntropy(request.seed);
      return null;
    case 'save':
      await known(request.machine).save(request.folder);
      return null;
    case 'end':
      relay?.close();
      return null;
    case 'close':
      await machines.get(request.machine)?.close();
      machines.delete(request.machine);
      return null;
  }
}

/** Runs to the limit or to an event; where the machine only has much to say, it goes on. */
async function runOn(
  machine: Machine,
  untilNs: number,
  stopOn: Extract<MachineRequest, { kind: 'run' }>['stopOn'],
): Promise<MachineReplies['run']> {
  const events: MachineReplies['run']['events'][number][] = [];
  for (;;) {
    const stop = await machine.run(untilNs, stopOn, waitMs);
    for (const event of stop.events) events.push(event);
    if (stop.reason === 'backlog') continue;
    const { atNs, instructions, reason } = stop;
    return { atNs, instructions, isOff: reason === 'off', events };
  }
}

async function deliver(machine: Machine, input: MachineInput): Promise<void> {
  const atNs = Math.max(input.atNs, machine.nowNs);
  switch (input.kind) {
    case 'frame':
      machine.deliverFrame(0, atNs, input.bytes);
      return;
    case 'block': {
      const { id, status, data } = input.end;
      machine.completeBlock(id, atNs, status, data);
      return;
    }
    // Of what follows it is told when it stands at that time.
    case 'interrupt':
      return machine.interrupt();
    case 'clocks':
      return machine.setClocks(input.rate, input.leadNs);
    case 'share':
      return machine.setShare(input.cpu);
    case 'stall':
      return machine.stall(input.vcpus);
    case 'flip-memory':
      return machine.flipMemory(input.address, input.bits);
    case 'flip-register':
      return machine.flipRegister(input.cpu, REGISTERS.indexOf(input.register), input.bits);
    case 'machine-check':
      return machine.machineCheck(input.cpu, input.corrected, input.address);
    case 'storm':
      return machine.storm(input.line, input.count, input.gapNs);
  }
}

const CHUNK_BYTES = 2 ** 20;
const PAGE_BYTES = 4_096;
const PAGES_SHOWN = 16;
/** Above, the memory of a large machine has gaps for devices. */
const COMPARED_BYTES_MAX = 2 ** 31;

/** The first pages of 4 KiB in which the memories of two machines differ. */
async function differingPages(left: Machine, right: Machine): Promise<number[]> {
  const bytes = Math.min(left.options.memoryMiB * 2 ** 20, COMPARED_BYTES_MAX);
  const pages: number[] = [];
  for (let at = 0; at < bytes && pages.length < PAGES_SHOWN; at += CHUNK_BYTES) {
    const [a, b] = [
      await left.readMemory(at, CHUNK_BYTES),
      await right.readMemory(at, CHUNK_BYTES),
    ];
    if (a.equals(b)) continue;
    for (let page = 0; page < CHUNK_BYTES; page += PAGE_BYTES) {
      const end = page + PAGE_BYTES;
      if (!a.subarray(page, end).equals(b.subarray(page, end))) pages.push(at + page);
    }
  }
  return pages.slice(0, PAGES_SHOWN);
}

function optionsOf(start: MachineStart): MachineOptions {
  return { ...start, backend };
}

function known(id: MachineId): Machine {
  const machine = machines.get(id);
  if (machine === undefined) throw new Error(`machine ${id} is not running`);
  return machine;
}

function describe(error: unknown): Extract<MachineReply, { error: unknown }>['error'] {
  if (error instanceof SimError) {
    const { code, message, place, remedy } = error;
    return { code, message, place, remedy };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'crash/machine', message, place: undefined, remedy: undefined };
}

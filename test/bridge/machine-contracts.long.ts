import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Machine,
  proveMachine,
  type MachineEvent,
  type MachineOptions,
} from '../../bridge/index.ts';
import { AlteredPlugin } from '../support/altered-plugin.ts';
import { BareMachines } from '../support/bare-machine.ts';
import { testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;
const BOOT_NS = 1_690 * MS;
const END_NS = 1_790 * MS;
const SECTOR_BYTES = 512;

/** An input: due at a time, and how it is handed to the machine. */
interface Input {
  readonly dueNs: number;
  readonly deliver: (machine: Machine) => void;
}

/** When who made an input hands it over: at least a time that has come, at most the input's own. */
type HandOver = (nowNs: number, dueNs: number) => number;

/** What is typed at a console, and when: none of these times is another input's. */
const TYPED = Array.from({ length: 12 }, (_, index) => {
  return { atNs: BOOT_NS + 3_000_017 + index * 7_000_003, text: `line ${index}\r` };
});

/**
 * A machine and who makes its inputs: echoes of its frames, ends of its block requests, and what
 * is typed. What is due when is the same for all; when it is handed over is not.
 */
class Course {
  readonly machine: Machine;
  readonly states: string[] = [];
  private readonly handOver: HandOver;
  private readonly waiting: (Input & { readonly handNs: number })[] = [];
  private readonly digest = createHash('sha256');
  private readonly disk = new Map<number, Buffer>();
  private count = 0;

  constructor(machine: Machine, handOver: HandOver) {
    this.machine = machine;
    this.handOver = handOver;
  }

  /** Types each text whole, or a character at a time. */
  type(inPieces: boolean): void {
    for (const { atNs, text } of TYPED) {
      const pieces = inPieces ? (text.match(/[^]/g) ?? []) : [text];
      this.add(atNs, (machine) => {
        for (const piece of pieces) machine.deliverConsole(0, atNs, Buffer.from(piece));
      });
    }
  }

  /** Runs to `untilNs`; the machine's state is told every `everyNs` of its time. */
  async run(untilNs: number, everyNs = untilNs): Promise<void> {
    const { machine } = this;
    for (let stateNs = machine.nowNs + everyNs; machine.nowNs < untilNs;) {
      const given = this.waiting.filter(({ handNs }) => handNs <= machine.nowNs);
      for (const input of given) {
        this.waiting.splice(this.waiting.indexOf(input), 1);
        input.deliver(machine);
      }
      const next = Math.min(...this.waiting.map(({ handNs }) => handNs), stateNs, untilNs);
      const stop = await machine.run(next, ['frame', 'block']);
      for (const event of stop.events) this.take(event);
      if (machine.nowNs < stateNs) continue;
      this.states.push(await this.state());
      stateNs += everyNs;
    }
  }

  async state(): Promise<string> {
    const { machine } = this;
    const { ram, devices } = await machine.hash();
    return [machine.nowNs, machine.instructions, ram, devices].join(' ');
  }

  /** All that has happened, and where the machine is. */
  async end(): Promise<readonly unknown[]> {
    return [this.count, this.digest.copy().digest('hex'), await this.state()];
  }

  private add(dueNs: number, deliver: Input['deliver']): void {
    const handNs = this.handOver(this.machine.nowNs, dueNs);
    this.waiting.push({ dueNs, deliver, handNs });
  }

  private take(event: MachineEvent): void {
    this.count++;
    this.digest.update(JSON.stringify(event));
    const { atNs } = event;
    if (event.kind === 'frame') {
      const dueNs = atNs + 150_001 + (event.bytes[14] ?? 0) * 977;
      this.add(dueNs, (machine) => machine.deliverFrame(event.port, dueNs, event.bytes));
    }
    if (event.kind !== 'block') return;
    const { id, sector, byteCount, operation, data } = event;
    const sectors = Array.from({ length: byteCount / SECTOR_BYTES }, (_, index) => sector + index);
    for (const [index, each] of sectors.entries()) {
      const at = index * SECTOR_BYTES;
      if (operation === 'write') this.disk.set(each, data.subarray(at, at + SECTOR_BYTES));
    }
    const empty = Buffer.alloc(SECTOR_BYTES);
    const found = Buffer.concat(sectors.map((each) => this.disk.get(each) ?? empty));
    const dueNs = atNs + 70_000 + (sector % 13) * 1009;
    const read = operation === 'read' ? found : undefined;
    this.add(dueNs, (machine) => machine.completeBlock(id, dueNs, 'ok', read));
  }
}

/** Some place between, of a small generator. */
function anyTime(): HandOver {
  let state = 99;
  return (nowNs, dueNs) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return nowNs + (state % Math.max(1, dueNs - nowNs));
  };
}

describe('the contracts of a machine', { timeout: 180_000 }, () => {
  let options: MachineOptions;
  let parent: Machine;
  beforeAll(async () => {
    options = await testOptions();
    parent = await Machine.start(options);
    await new Course(parent, (nowNs) => nowNs).run(BOOT_NS);
  }, 60_000);
  afterAll(async () => {
    await parent.close();
  });

  it('A: equal image, command line, seed and inputs give equal instructions and states (CR-111)', async () => {
    const courses: (readonly unknown[])[] = [];
    for (let time = 0; time < 2; time++) {
      const course = new Course(await Machine.start(options), (nowNs) => nowNs);
      const { machine } = course;
      try {
        course.type(false);
        await course.run(END_NS, 50 * MS);
        // And one instruction at a time: where each leads shows in the state of the processor.
        for (let step = 0; step < 60; step++) {
          await course.run(machine.nowNs + 1);
          course.states.push(await course.state());
        }
        courses.push([course.states, ...(await course.end())]);
      } finally {
        await machine.close();
      }
    }
    const [first, second] = courses;
    expect(new Set(first?.[0] as readonly string[]).size).toBe(35 + 60);
    expect(second).toEqual(first);
  });

  it('B: when an input is seen does not hang by when it was handed over (CR-111, CR-112)', async () => {
    const ways: readonly (readonly [string, HandOver, boolean])[] = [
      ['at once', (nowNs) => nowNs, false],
      ['in the last nanosecond', (_, dueNs) => dueNs - 1, false],
      ['when it is due', (_, dueNs) => dueNs, false],
      ['at any time, in pieces', anyTime(), true],
    ];
    const ends: unknown[] = [];
    for (const [name, handOver, inPieces] of ways) {
      const course = new Course(await parent.fork(), handOver);
      try {
        course.type(inPieces);
        await course.run(END_NS);
        ends.push([name, ...(await course.end())]);
      } finally {
        await course.machine.close();
      }
    }
    const [[, ...first] = []] = ends as (readonly unknown[])[];
    expect(first[0]).toBeGreaterThan(100);
    expect(ends).toEqual(ways.map(([name]) => [name, ...first]));
  });

  it('A is proven of a machine before anything is built on it, and refused where it fails', async () => {
    await proveMachine(options);
    const bare = new BareMachines();
    try {
      const altered = await AlteredPlugin.build(bare.folder);
      const backend = altered.without('seed');
      await expect(proveMachine({ ...options, backend })).rejects.toMatchObject({
        code: 'backend/contract',
      });
    } finally {
      bare.remove();
    }
  });
});

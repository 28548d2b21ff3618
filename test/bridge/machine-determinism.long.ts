import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine } from '../../bridge/index.ts';
import type { MachineOptions } from '../../bridge/index.ts';
import { TestWorld, testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;

/** Step lengths of a small generator: the same in each run, unlike anything in the machine. */
function random(limitNs: number): () => number {
  let state = 12345;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return 1 + (state % limitNs);
  };
}

interface Shape {
  readonly name: string;
  readonly changes: Partial<MachineOptions>;
  readonly bootNs: number;
  readonly warmNs: number;
}

const SHAPES: readonly Shape[] = [
  { name: 'microvm with one CPU', changes: {}, bootNs: 1_700 * MS, warmNs: 40 * MS },
  {
    name: 'q35 with two CPUs',
    changes: { machine: 'q35', cpus: 2, shift: 2, memoryMiB: 128 },
    bootNs: 6_500 * MS,
    warmNs: 100 * MS,
  },
];

describe.each(SHAPES)('$name, with disk and network', ({ changes, bootNs, warmNs }) => {
  let options: MachineOptions;
  let world: TestWorld;

  beforeAll(async () => {
    options = await testOptions(changes);
    world = new TestWorld(await Machine.start(options));
    await world.run(bootNs);
  });

  afterAll(async () => {
    await world.machine.close();
  });

  it('works: frames come back, the disk keeps what was written', () => {
    expect(world.console).toContain('somebody listens');
    expect(world.console).toMatch(/round 1: frame of 128/);
    expect(world.console).toMatch(/round 1: disk good 1/);
  });

  it('boots to the same state however the run is split, under jitter (CR-111)', async () => {
    const expected = await world.summary();
    const steps = [() => bootNs, () => 10 * MS, random(50 * MS)];
    for (const [index, step] of steps.entries()) {
      const other = new TestWorld(await Machine.start(options));
      const jitter = index === 2 ? jitterProcess(other.machine) : undefined;
      await other.run(bootNs, step);
      jitter?.();
      expect(await other.summary()).toEqual(expected);
      await other.machine.close();
    }
  });

  it('ends in the same state for every splitting down to a nanosecond', async () => {
    const whole = await world.fork();
    const end = world.machine.nowNs + warmNs;
    await whole.run(end);
    const expected = await whole.summary();
    await whole.machine.close();
    const splittings: Record<string, () => number> = {
      '1 ms': () => MS,
      'random to 50 us': random(50_000),
    };
    for (const [name, step] of Object.entries(splittings)) {
      const split = await world.fork();
      await split.run(end, step);
      expect([name, await split.summary()]).toEqual([name, expected]);
      await split.machine.close();
    }
    const fine = await world.fork();
    await fine.run(end - 20_000);
    await fine.run(end - 18_000, () => 1);
    await fine.run(end, () => 777);
    expect(await fine.summary()).toEqual(expected);
    await fine.machine.close();
  });

  it('and so it does with a share of its processors, and with one that is stalled (CR-86)', async () => {
    const startNs = world.machine.nowNs;
    const last = (changes.cpus ?? 1) - 1;
    const course = async (step: () => number): Promise<unknown> => {
      const split = await world.fork();
      const goOn = (partsOfWarm: number): Promise<void> => {
        return split.run(startNs + (warmNs * partsOfWarm) / 10, step);
      };
      try {
        await split.machine.setShare(300_000);
        await goOn(4);
        await split.machine.stall([last]);
        await goOn(6);
        await split.machine.stall([]);
        await goOn(8);
        await split.machine.setShare(1_000_000);
        await goOn(10);
        return await split.summary();
      } finally {
        await split.machine.close();
      }
    };
    const expected = await course(() => warmNs);
    expect(await course(() => MS)).toEqual(expected);
    expect(await course(random(50_000))).toEqual(expected);
  });

  it('forks into twins that equal their parent, and that part when seeded anew', async () => {
    const child = await world.fork();
    const grandchild = await child.fork();
    const other = await world.fork();
    await other.machine.seedEntropy(7);
    const end = world.machine.nowNs + warmNs;
    const all = [world, child, grandchild, other];
    await Promise.all(all.map((each) => each.run(end)));
    const [first, second, third, fourth] = await Promise.all(all.map((each) => each.summary()));
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    expect(fourth?.state).not.toBe(first?.state);
    await Promise.all(all.slice(1).map((each) => each.machine.close()));
  });
});

/** Stops and continues the machine's process at odd moments, until the returned function is called. */
function jitterProcess(machine: Machine): () => void {
  const { processId } = machine;
  let stopped = false;
  const timer = setInterval(() => {
    stopped = !stopped;
    process.kill(processId, stopped ? 'SIGSTOP' : 'SIGCONT');
  }, 7);
  return () => {
    clearInterval(timer);
    process.kill(processId, 'SIGCONT');
  };
}

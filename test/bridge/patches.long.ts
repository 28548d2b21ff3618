import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine, PACKAGED_QEMU, type MachineBackend } from '../../bridge/index.ts';
import type { MachineOptions } from '../../bridge/index.ts';
import { BareMachines } from '../support/bare-machine.ts';
import { CALLER, processors, RANDOM, SLEEPER, TRANSLATIONS } from '../support/bare-programs.ts';
import { patchedBackend, testBackend } from '../support/machine-fixture.ts';

const END_NS = 2_000_000_000;
const IDLE_NS = 100_000;
/** A run in odd steps. */
const SPLIT = { stepNs: 33_333 };
const COUNTED = ['-icount', 'shift=0,sleep=off'];
const SEEDED = [...COUNTED, '-seed', '7'];
const TWO = ['-smp', '2'];

/** What the doorbell answers, and what a port without a device does. */
const SOMEBODY = 0x41544852;
const NOBODY = 0xffffffff;

/** Both halves of each patch of bridge/qemu/patches; docs/patches.md has the table. */
describe('the patched QEMU (CR-117)', () => {
  const bare = new BareMachines();
  let patched: MachineBackend;
  beforeAll(() => {
    patched = patchedBackend();
  });
  afterAll(() => {
    bare.remove();
  });

  const simulated = (
    program: string,
    changes: Partial<MachineOptions> = {},
    disturbance = {},
  ): Promise<readonly number[]> => {
    return bare.run(bare.options(patched, program, changes), END_NS, disturbance);
  };
  /** What a program tells on the patched QEMU without a controller, and on Debian's. */
  const alone = async (
    program: string,
    more: readonly string[],
  ): Promise<{ readonly patched: readonly number[]; readonly upstream: readonly number[] }> => {
    const firmware = patched.firmwareFolders.flatMap((folder) => ['-L', folder]);
    return {
      patched: await bare.runAlone(patched.binary, program, [...firmware, ...more]),
      upstream: await bare.runAlone(PACKAGED_QEMU, program, more),
    };
  };

  it('0001: runs processors by our loop, wherever a run is split', async () => {
    const program = processors('nop');
    const whole = await simulated(program, { cpus: 2 });
    expect(whole.length).toBeGreaterThan(700);
    expect(await simulated(program, { cpus: 2 }, SPLIT)).toEqual(whole);
    const options = bare.options(await testBackend(), program, { cpus: 2 });
    expect(await bare.run(options, END_NS)).toEqual(whole);
  });

  it('0001: leaves them to upstream’s loop without a simulation', async () => {
    const ends = await alone(processors('nop'), [...TWO, ...COUNTED]);
    expect(ends.upstream.length).toBeGreaterThan(700);
    expect(ends.patched).toEqual(ends.upstream);
    expect(ends.patched).not.toEqual(await simulated(processors('nop'), { cpus: 2 }));
  });

  it('0002: moves the clock of a machine that sleeps by our loop alone', async () => {
    const machine = await Machine.start(bare.options(patched, SLEEPER));
    try {
      await machine.run(IDLE_NS);
      const twin = await machine.fork();
      await twin.close();
      expect((await machine.run(IDLE_NS + 1)).atNs).toBe(IDLE_NS + 1);
    } finally {
      await machine.close();
    }
  });

  it('0002: leaves the clock to upstream’s main thread without a simulation', async () => {
    const ends = await alone(SLEEPER, COUNTED);
    expect(ends.upstream.length).toBe(12);
    expect(ends.patched).toEqual(ends.upstream);
  });

  it('0003: draws from the machine’s entropy', async () => {
    const drawn = await simulated(RANDOM);
    expect(await simulated(RANDOM)).toEqual(drawn);
    expect(await simulated(RANDOM, { seed: 43 })).not.toEqual(drawn);
    expect(await bare.run(bare.options(await testBackend(), RANDOM), END_NS)).toEqual(drawn);
  });

  it('0003: draws as upstream does without a simulation, with a seed and without', async () => {
    const seeded = await alone(RANDOM, SEEDED);
    expect(seeded.upstream.length).toBe(80);
    expect(seeded.patched).toEqual(seeded.upstream);
    const once = await alone(RANDOM, COUNTED);
    expect((await alone(RANDOM, COUNTED)).patched).not.toEqual(once.patched);
  });

  it('0004: sizes the TLB without the host’s clock', async () => {
    expect(await simulated(TRANSLATIONS)).toEqual([0]);
  });

  it('0004: sizes it by the host’s clock without a simulation, as upstream does', async () => {
    expect(await alone(TRANSLATIONS, COUNTED)).toEqual({ patched: [300], upstream: [300] });
  });

  it('0005: lets PAUSE end no turn', async () => {
    const changes = { cpus: 2 };
    expect(await simulated(processors('pause'), changes)).toEqual(
      await simulated(processors('nop'), changes),
    );
  });

  it('0005: lets PAUSE give the turn away without a simulation, as upstream does', async () => {
    const pause = await alone(processors('pause'), [...TWO, ...COUNTED]);
    expect(pause.patched).toEqual(pause.upstream);
    const nop = await alone(processors('nop'), [...TWO, ...COUNTED]);
    expect(pause.patched).not.toEqual(nop.patched);
  });

  it('0006: has the adapter inside, which Debian’s QEMU has not', () => {
    const devices = (binary: string): string => {
      return execFileSync(binary, ['-device', 'help'], { encoding: 'utf8' });
    };
    expect(devices(patched.binary)).toContain('name "sim-control"');
    expect(devices(PACKAGED_QEMU)).not.toContain('sim-control');
  });

  it('0006: answers at the doorbell in a simulation alone', async () => {
    expect(await simulated(CALLER)).toEqual([SOMEBODY]);
    expect(await alone(CALLER, COUNTED)).toEqual({ patched: [NOBODY], upstream: [NOBODY] });
  });
});

import { createHash } from 'node:crypto';
import { NS_PER_S, SimError } from '../sim/index.ts';
import { Machine } from './machine.ts';
import type { MachineOptions } from './machine-options.ts';

/** So much of a machine's life is compared: most of the way of a kernel to its first program. */
const PROOF_NS = NS_PER_S;
/** A split that has nothing to do with any timer of a guest. */
const STEP_NS = 7_777_777;

/** Where a machine got to, and what it did on the way. */
type Course = Readonly<Record<'memory' | 'devices' | 'time' | 'instructions' | 'events', string>>;

/**
 * Contract A (CR-111), for one machine on one backend: two processes that boot it alone, one in a
 * single run, the other in steps, do the same and end in the same state. They run side by side.
 * Throws `backend/contract` where they differ; the errors of machines.
 */
export async function proveMachine(options: MachineOptions): Promise<void> {
  const [whole, split] = await Promise.all([
    courseOf(options, PROOF_NS),
    courseOf(options, STEP_NS),
  ]);
  const parted = (Object.keys(whole) as (keyof Course)[]).filter(
    (part) => whole[part] !== split[part],
  );
  if (parted.length === 0) return;
  throw new SimError({
    code: 'backend/contract',
    message: `two boots of one machine part within ${PROOF_NS / NS_PER_S} s: ${parted.join(', ')}`,
    remedy:
      'run `sim vm setup` and `sim doctor`; if it stays, no run of this machine can be repeated here',
  });
}

async function courseOf(options: MachineOptions, stepNs: number): Promise<Course> {
  const machine = await Machine.start(options);
  try {
    const events = createHash('sha256');
    for (let isOff = false; machine.nowNs < PROOF_NS && !isOff;) {
      const stop = await machine.run(Math.min(machine.nowNs + stepNs, PROOF_NS));
      for (const event of stop.events) events.update(JSON.stringify(event));
      isOff = stop.reason === 'off';
    }
    const { ram, devices } = await machine.hash();
    return {
      memory: ram,
      devices,
      time: String(machine.nowNs),
      instructions: String(machine.instructions),
      events: events.digest('hex'),
    };
  } finally {
    await machine.close();
  }
}

import { beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../sim/index.ts';
import { MachineModel, machineText, randomMachine } from './dispatch-machine.ts';
import { Draws } from './random-source.ts';
import { ALL_ON, assembleGuest, runInstrumentedWat, runPlainWat, type WatRun } from './wat-runs.ts';
import { openWabt, type Wabt } from './wabt.ts';

let wabt: Wabt;
beforeAll(async () => {
  wabt = await openWabt();
});

const MUCH = 1_000_000;
const MACHINES = 60;

function seen({ result, memory, asked }: WatRun): unknown {
  return { result, asked, memory: sha256(memory) };
}

describe('a loop that dispatches by a br_table, as Go writes its jumps', () => {
  it('does and counts the same, suspended at every call and preempted at every fuel count', () => {
    let suspensions = 0;
    let executed = 0;
    for (let seed = 0; seed < MACHINES; seed += 1) {
      const machine = randomMachine(new Draws(seed));
      const model = new MachineModel(machine, 5);
      const binary = assembleGuest(wabt, machineText(machine));
      const expected = {
        result: String(model.x),
        asked: model.asked,
        memory: sha256(model.memory),
      };
      expect(seen(runPlainWat(binary)), `machine ${seed}`).toEqual(expected);
      const options = [
        { atAsk: false, quantum: MUCH },
        ...[1, 3, 11].map((quantum) => ({ atAsk: true, quantum })),
      ];
      for (const schedule of options) {
        const run = runInstrumentedWat(binary, ALL_ON, schedule);
        expect(seen(run), `machine ${seed}, quantum ${schedule.quantum}`).toEqual(expected);
        expect(run.executed, `machine ${seed}`).toBe(model.executed);
        suspensions += run.suspensions;
      }
      executed += model.executed;
    }
    expect(suspensions).toBeGreaterThan(1_000);
    expect(executed).toBeGreaterThan(6_000);
  });

  it('does not pass by the head of the loop when the block is still open', () => {
    const body = `
      (func (export "run") (param i32) (result i32) (local $p i32)
        loop $l block $b block $a
          local.get $p br_table $a $b end
          i32.const 1 local.set $p br $l end
        end
        (i32.const 3))`;
    const run = runInstrumentedWat(assembleGuest(wabt, body), ALL_ON, { atAsk: true, quantum: 1 });
    // Only the loop's head, where the function begins, looks at the fuel.
    expect(run.suspensions).toBe(1);
    expect(run.executed).toBe(8);
  });
});

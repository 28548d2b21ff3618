import type { HostFunction } from './host-set.ts';
import type { Machine } from './machine.ts';

/** The guest that linked instances serve at present. */
export interface Slot {
  machine: Machine | null;
  /** The machine's host functions, kept here to spare a look-up in each call. */
  functions: readonly HostFunction[];
}

type Value = number | bigint;

/**
 * Makes the import for host function `index`: it reports the guest's local time, keeps the call
 * when the guest stops in it, and makes it again when the guest goes on. One body for each usual
 * number of parameters, since rest parameters cost more than the rest of the work.
 */
export function wrapHostCall(
  slot: Slot,
  index: number,
  parameterCount: number,
  zero: Value,
): HostFunction {
  switch (parameterCount) {
    case 0:
      return () => {
        const machine = slot.machine as Machine;
        if (machine.enter() === 2) return halt(machine, index, [], zero);
        const result = (slot.functions[index] as HostFunction)();
        return machine.leave() ? halt(machine, index, [], zero) : result;
      };
    case 1:
      return (a) => {
        const machine = slot.machine as Machine;
        const entered = machine.enter();
        if (entered === 2) return halt(machine, index, [a as Value], zero);
        let x = a as Value;
        if (entered === 1) [x] = machine.stoppedArgs(index) as [Value];
        const result = (slot.functions[index] as HostFunction)(x);
        return machine.leave() ? halt(machine, index, [x], zero) : result;
      };
    case 2:
      return (a, b) => {
        const machine = slot.machine as Machine;
        const entered = machine.enter();
        if (entered === 2) return halt(machine, index, [a as Value, b as Value], zero);
        let x = a as Value;
        let y = b as Value;
        if (entered === 1) [x, y] = machine.stoppedArgs(index) as [Value, Value];
        const result = (slot.functions[index] as HostFunction)(x, y);
        return machine.leave() ? halt(machine, index, [x, y], zero) : result;
      };
    case 3:
      return (a, b, c) => {
        const machine = slot.machine as Machine;
        const entered = machine.enter();
        let x = a as Value;
        let y = b as Value;
        let z = c as Value;
        if (entered === 2) return halt(machine, index, [x, y, z], zero);
        if (entered === 1) [x, y, z] = machine.stoppedArgs(index) as [Value, Value, Value];
        const result = (slot.functions[index] as HostFunction)(x, y, z);
        return machine.leave() ? halt(machine, index, [x, y, z], zero) : result;
      };
    case 4:
      return (a, b, c, d) => {
        const machine = slot.machine as Machine;
        const entered = machine.enter();
        let x = a as Value;
        let y = b as Value;
        let z = c as Value;
        let w = d as Value;
        if (entered === 2) return halt(machine, index, [x, y, z, w], zero);
        if (entered === 1)
          [x, y, z, w] = machine.stoppedArgs(index) as [Value, Value, Value, Value];
        const result = (slot.functions[index] as HostFunction)(x, y, z, w);
        return machine.leave() ? halt(machine, index, [x, y, z, w], zero) : result;
      };
    default:
      return (...args) => {
        const machine = slot.machine as Machine;
        const entered = machine.enter();
        if (entered === 2) return halt(machine, index, args, zero);
        const values = entered === 1 ? machine.stoppedArgs(index) : args;
        const result = (slot.functions[index] as HostFunction)(...values);
        return machine.leave() ? halt(machine, index, values, zero) : result;
      };
  }
}

function halt(machine: Machine, index: number, args: readonly Value[], zero: Value): Value {
  machine.stop(index, args);
  return zero;
}

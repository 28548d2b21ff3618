import { assert, unreachable } from '../kernel/assert.ts';
import type { ModelName } from './functions.ts';
import { NIL, type Operation } from './operation.ts';

/**
 * A sequential object. A state is text, equal exactly for equal states. An operation of unknown
 * outcome (`open`, `info`) may have had any result.
 */
export interface Model {
  readonly initial: string;
  /** The state after the operation, or null if the object would not have answered so. */
  step(state: string, operation: Operation): string | null;
  /**
   * Whether the operation, in every state in which it may have been answered so, leaves the
   * state as it is: then it may come as early as it fits, and need not be tried later.
   */
  looks(operation: Operation): boolean;
  /** A state in words. */
  describe(state: string): string;
}

/** The model of that name; `initial` is what a register or map holds at first. */
export function makeModel(name: ModelName, initial: string | null): Model {
  switch (name) {
    case 'register':
      return register(initial ?? NIL);
    case 'map':
      return map(initial ?? NIL);
    case 'set':
      return SET;
    case 'queue':
      return QUEUE;
    default:
      return unreachable(name);
  }
}

/** The parts of a history that can be judged apart: one for each key, or element of a set. */
export function partition(
  name: ModelName,
  operations: readonly Operation[],
): Map<string, Operation[]> {
  const whole = new Set<string>();
  if (name === 'set') {
    for (const each of operations) if (each.function === 'members') whole.add(argument(each, 0));
  }
  const parts = new Map<string, Operation[]>();
  for (const operation of operations) {
    const key = argument(operation, 0);
    const apart = name === 'set' && !whole.has(key);
    const label = apart ? `${key} ${argument(operation, 1)}` : key;
    const part = parts.get(label);
    if (part === undefined) parts.set(label, [operation]);
    else part.push(operation);
  }
  return parts;
}

function argument(operation: Operation, index: number): string {
  const value = operation.args[index];
  assert(value !== undefined, 'an operation has the arguments of its function');
  return value;
}

/** Whether the operation may have brought back `word`. */
function answered(operation: Operation, word: string): boolean {
  return operation.status !== 'ok' || operation.result[0] === word;
}

/** As `answered`, where no result at all fits as well. */
function answeredOrSilent(operation: Operation, word: string): boolean {
  return operation.result.length === 0 || answered(operation, word);
}

function saidFalse(operation: Operation): boolean {
  return operation.status === 'ok' && operation.result[0] === 'false';
}

function register(initial: string): Model {
  return {
    initial,
    step: (state, operation) => {
      switch (operation.function) {
        case 'read':
          return answered(operation, state) ? state : null;
        case 'write':
          return argument(operation, 1);
        default: {
          const swaps = state === argument(operation, 1);
          if (!answered(operation, String(swaps))) return null;
          return swaps ? argument(operation, 2) : state;
        }
      }
    },
    looks: (operation) => operation.function === 'read' || saidFalse(operation),
    describe: (state) => `it holds ${state}`,
  };
}

function map(initial: string): Model {
  return {
    initial,
    step: (state, operation) => {
      switch (operation.function) {
        case 'get':
          return answered(operation, state) ? state : null;
        case 'put':
          return argument(operation, 1);
        case 'append':
          return state === NIL ? argument(operation, 1) : state + argument(operation, 1);
        default:
          return answeredOrSilent(operation, String(state !== NIL)) ? NIL : null;
      }
    },
    looks: (operation) => operation.function === 'get' || saidFalse(operation),
    describe: (state) => `it holds ${state}`,
  };
}

/** The elements in order, with commas; the empty text for none. */
const SET: Model = {
  initial: '',
  step: (state, operation) => {
    if (operation.function === 'members') {
      if (operation.status !== 'ok') return state;
      const [list = NIL] = operation.result;
      return sortedList(list === NIL ? '' : list) === state ? state : null;
    }
    const element = argument(operation, 1);
    const elements = state === '' ? [] : state.split(',');
    const member = elements.includes(element);
    switch (operation.function) {
      case 'contains':
        return answered(operation, String(member)) ? state : null;
      case 'add':
        if (!answeredOrSilent(operation, String(!member))) return null;
        return member ? state : sortedList([...elements, element].join(','));
      default:
        if (!answeredOrSilent(operation, String(member))) return null;
        return elements.filter((each) => each !== element).join(',');
    }
  },
  looks: (operation) => {
    return (
      operation.function === 'members' || operation.function === 'contains' || saidFalse(operation)
    );
  },
  describe: (state) => `it holds {${state}}`,
};

function sortedList(list: string): string {
  return list.split(',').sort(byCodeUnit).join(',');
}

function byCodeUnit(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The waiting values, oldest first, each followed by a space: values are words. */
const QUEUE: Model = {
  initial: '',
  step: (state, operation) => {
    if (operation.function === 'enqueue') return `${state}${argument(operation, 1)} `;
    if (state === '') return answered(operation, NIL) ? state : null;
    const end = state.indexOf(' ');
    return answered(operation, state.slice(0, end)) ? state.slice(end + 1) : null;
  },
  looks: (operation) => {
    return (
      operation.function === 'dequeue' && operation.status === 'ok' && operation.result[0] === NIL
    );
  },
  describe: (state) => (state === '' ? 'it is empty' : `it holds ${state.trimEnd()}`),
};

import { formatTime } from '../kernel/units.ts';
import type { HistoryPropertyDef, LinearizableDef } from '../plan/history-properties.ts';
import { functionNamed } from './functions.ts';
import { drawHistory } from './history-picture.ts';
import type { History } from './history.ts';
import { checkLinearizable, type StepBudget, type Violation } from './linearizable.ts';
import { makeModel, partition, type Model } from './models.ts';
import { checkSerializable } from './serializable.ts';
import { describeCall, describeReply, type Operation } from './operation.ts';

export interface HistoryVerdict {
  readonly verdict: 'pass' | 'fail' | 'inconclusive';
  readonly detail: string;
  /** Lines that show a failure. */
  readonly picture?: readonly string[];
}

/** Judges what clients saw until the end of a run. */
export function judgeHistory(def: HistoryPropertyDef, history: History): HistoryVerdict {
  if (history.fault !== null) {
    return { verdict: 'inconclusive', detail: `the history cannot be read: ${history.fault}` };
  }
  const model = def.kind === 'linearizable' ? def.model : 'transactions';
  const operations = history.all().filter((each) => {
    return def.nodes.includes(each.node) && functionNamed(each.function)?.model === model;
  });
  if (operations.length === 0) {
    const what = def.kind === 'linearizable' ? `operation of a ${def.model}` : 'transaction';
    return { verdict: 'pass', detail: `vacuous: no ${what} was recorded` };
  }
  if (def.kind === 'serializable') return checkSerializable(operations, def.stepsMax);
  return judgeLinearizable(def, operations);
}

function judgeLinearizable(def: LinearizableDef, operations: readonly Operation[]): HistoryVerdict {
  const happened = operations.filter((each) => each.status !== 'fail');
  const model = makeModel(def.model, def.initial);
  const budget: StepBudget = { left: def.stepsMax };
  const parts = partition(def.model, happened);
  let exhausted: string | null = null;
  for (const [label, part] of parts) {
    const result = checkLinearizable(part, model, budget);
    if (result.kind === 'violated') return describe(label, part, model, result.violation);
    if (result.kind === 'exhausted') exhausted ??= label;
  }
  if (exhausted !== null) {
    const why = `gave up after ${def.stepsMax} steps, at key ${exhausted}`;
    return { verdict: 'inconclusive', detail: why };
  }
  const open = happened.filter((each) => each.status !== 'ok').length;
  const unknown = open === 0 ? '' : `, ${open} of unknown outcome`;
  const counts = `${operations.length} operations on ${parts.size} parts${unknown}`;
  return { verdict: 'pass', detail: counts };
}

function describe(
  label: string,
  part: readonly Operation[],
  model: Model,
  violation: Violation,
): HistoryVerdict {
  const { blamed, order, orderCount, state } = violation;
  const reply = `${describeCall(blamed)} → ${describeReply(blamed)}`;
  const at = formatTime(blamed.returnedNs ?? blamed.calledNs);
  const detail = `no order explains "${reply}" by ${blamed.client} at ${at} (key ${label})`;
  const shown = order.map((each) => `${describeCall(each)} → ${describeReply(each)}`);
  const more = orderCount > order.length ? `${orderCount - order.length} operations, ` : '';
  const picture = [
    ...drawHistory(part, blamed),
    orderCount === 0
      ? `no operation before it can be placed; ${model.describe(state)}`
      : `an order until then: ${more}${shown.join(', ')}; ${model.describe(state)}`,
  ];
  return { verdict: 'fail', detail, picture };
}

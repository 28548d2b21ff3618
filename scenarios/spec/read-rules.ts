import type { WordReader } from './read-words.ts';
import { DISK_CHANCES, LINK_CHANCES } from './rule-chances.ts';
import { showStatic, type Static } from './static-value.ts';
import type { SpecRule } from './spec-model.ts';

const CHANCES = ['chance', ...LINK_CHANCES, ...DISK_CHANCES];

/** A rule tries at most so many occurrences both ways: 2^16 leaves. */
export const EXHAUSTIVE_FIRES_MAX = 16;

/**
 * A fault of an assumption, as the event of a scenario that it becomes; `max_fires` and `mode`
 * come on top. Fan-out only happens where the author asked for it (FB-40, FB-41).
 */
export function readRule(value: Static, name: string, reader: WordReader): SpecRule {
  if (value.kind !== 'table') {
    return reader.fail(`a rule is ${showStatic(value)}, not a table`, 'write { do: "crash", ... }');
  }
  const { entries } = value;
  const chance = CHANCES.find((key) => isChance(entries.get(key)));
  const probabilistic = chance !== undefined || entries.get('do') === undefined;
  const mode = modeOf(entries.get('mode'), reader);
  const fires = firesOf(entries.get('max_fires'), reader);
  if (mode === 'exhaustive' && fires === null) {
    reader.fail('mode "exhaustive" needs max_fires', 'say how many occurrences: max_fires: 3');
  }
  if (fires !== null && mode === 'stochastic') {
    reader.fail('max_fires does not go with mode "stochastic"', 'leave max_fires out');
  }
  if (fires !== null && chance === undefined) {
    reader.fail('max_fires needs a chance below 100%', 'leave max_fires out, or give a chance');
  }
  return { name, probabilistic, exhaustiveFires: fires, bounded: fires !== null };
}

function isChance(value: Static | undefined): boolean {
  if (value?.kind !== 'value') return value !== undefined;
  const text = String(value.value);
  return text !== '0' && text !== '0%' && text !== '100%';
}

function modeOf(value: Static | undefined, reader: WordReader): 'exhaustive' | 'stochastic' | null {
  if (value === undefined) return null;
  const mode = reader.text(value, 'mode');
  if (mode === 'exhaustive' || mode === 'stochastic') return mode;
  return reader.fail(`"${mode}" is no mode`, 'there are "exhaustive" and "stochastic"');
}

function firesOf(value: Static | undefined, reader: WordReader): number | null {
  if (value === undefined) return null;
  const fires = value.kind === 'value' ? value.value : null;
  if (typeof fires === 'number' && Number.isInteger(fires) && fires >= 1) {
    if (fires <= EXHAUSTIVE_FIRES_MAX) return fires;
    reader.fail(`max_fires ${fires} is above ${EXHAUSTIVE_FIRES_MAX}`, 'try fewer occurrences');
  }
  return reader.fail(`max_fires is ${showStatic(value)}`, 'write a whole number from 1');
}

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readInput } from '../../scenarios/index.ts';
import { guestsOf, SimError, type ScenarioDef } from '../../sim/index.ts';
import type { Context } from '../context.ts';

/** One of the builds among which the first bad one is looked for. */
export interface Build {
  /** What people call it. */
  readonly name: string;
  /**
   * Its module's bytes, made or read when it is needed. Throws `input/build-…` where a search must
   * skip it, anything else where a search cannot go on.
   */
  image(): Promise<Uint8Array>;
}

/** The builds in order: the first is said to be good, the last to be bad. */
export interface BuildList {
  readonly builds: readonly Build[];
  /** Where they come from, for messages. */
  readonly place: string;
  /** Takes away what was made to have them. */
  close(): Promise<void>;
}

/** More files or commits than this are refused: each is a name that is kept. */
export const BUILDS_MAX = 100_000;

/** Why a build cannot be tried, though others can. */
export function isUnusable(error: unknown): error is SimError {
  return error instanceof SimError && /^(input\/build-|guest\/)/.test(error.code);
}

/**
 * The modules of a folder in the order of their names, numbers in them by value. Throws
 * `input/missing`, `input/unreadable`, and what `checkCount` throws.
 */
export function buildsInFolder(text: string, context: Context): BuildList {
  const folder = context.path(text);
  const names = namesIn(folder, text).filter((name) => name.endsWith('.wasm'));
  // Not the locale's order: a list must not depend on who bisects.
  const order = new Intl.Collator('en', { numeric: true });
  names.sort((a, b) => order.compare(a, b) || (a < b ? -1 : 1));
  checkCount(names.length, text, 'modules (*.wasm)');
  const builds = names.map((name) => ({
    name,
    image: () => Promise.resolve(readInput(join(folder, name), name)),
  }));
  return { builds, place: text, close: () => Promise.resolve() };
}

/** Two modules, named by their paths: a good one and a bad one. */
export function twoBuilds(good: string, bad: string, context: Context): BuildList {
  const builds = [good, bad].map((name) => ({
    name,
    image: () => Promise.resolve(readInput(context.path(name), name)),
  }));
  return { builds, place: bad, close: () => Promise.resolve() };
}

/** Throws `input/builds` for fewer than two builds, `input/limit` for too many. */
export function checkCount(count: number, place: string, what: string): void {
  if (count < 2) {
    throw new SimError({
      code: 'input/builds',
      message: `there are ${count} ${what}, expected at least 2: a good one first, a bad one last`,
      place,
      remedy: 'give a range whose first build passes and whose last one fails',
    });
  }
  if (count > BUILDS_MAX) {
    throw new SimError({
      code: 'input/limit',
      message: `there are ${count} ${what}, the limit is ${BUILDS_MAX}`,
      place,
    });
  }
}

/**
 * The label of the guest whose builds are tried. Throws `usage/guest` where the scenario has several
 * and none is named, or none of that name.
 */
export function chooseGuest(scenario: ScenarioDef, wanted: string | undefined): string {
  const labels = [...new Set(guestsOf(scenario).map(({ label }) => label))].sort();
  const only = labels.length === 1 ? labels[0] : undefined;
  const chosen = wanted ?? only;
  if (chosen !== undefined && labels.includes(chosen)) return chosen;
  const named = labels.map((label) => `"${label}"`).join(', ');
  throw new SimError({
    code: 'usage/guest',
    message:
      wanted === undefined
        ? `the scenario has ${labels.length} guests: ${named}`
        : `the scenario has no guest "${wanted}"; there are ${named}`,
    place: '--guest',
    remedy: 'say which of them the builds are of: --guest LABEL',
  });
}

/** The scenario with another image wherever it runs the guest of a label, upgrades included. */
export function withImage(scenario: ScenarioDef, label: string, image: string): ScenarioDef {
  const { world, plan } = scenario;
  const nodes = world.nodes.map((node) => {
    return node.guest.label === label ? { ...node, guest: { ...node.guest, image } } : node;
  });
  const events = plan.events.map((event) => {
    const { action } = event;
    if (action.kind !== 'upgrade' || action.guest.label !== label) return event;
    return { ...event, action: { ...action, guest: { ...action.guest, image } } };
  });
  return { ...scenario, world: { ...world, nodes }, plan: { ...plan, events } };
}

function namesIn(folder: string, shown: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SimError({
      code: code === 'ENOENT' ? 'input/missing' : 'input/unreadable',
      message: code === 'ENOTDIR' ? 'it is not a folder' : `the folder cannot be read (${code})`,
      place: shown,
      remedy: 'give a folder with one module a build, named in their order',
      cause: error,
    });
  }
}

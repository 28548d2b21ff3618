import { compareText } from '../plan/admit.ts';
import { quoteName, type Met } from './met.ts';

/** A leaf that has run, as far as suggestions need it. */
export interface PriorLeaf {
  readonly test: string;
  readonly virtualNs: number;
  readonly met: Met;
  /** Its rules, and why each changed nothing; null for those that did something. */
  readonly rules: readonly { readonly name: string; readonly idle: string | null }[];
}

/** What the spec says of a test: where it stands, which scenario it runs. */
export interface KnownTest {
  readonly name: string;
  /** Null for a test with a body of its own, which nothing else can run. */
  readonly scenario: string | null;
  readonly place: string;
}

export interface SuggestOptions {
  readonly tests: readonly KnownTest[];
  readonly services: readonly string[];
  /** Names that the spec has declared: a stub takes none of them. */
  readonly taken: ReadonlySet<string>;
}

/** Something that went one way in all runs that met it, with a stub that makes it go another. */
export interface Suggestion {
  readonly kind: 'answer' | 'call' | 'chance' | 'choice' | 'file' | 'rule';
  /** What was met, in a line. */
  readonly what: string;
  /** How often it was met, over all runs. */
  readonly count: number;
  /** The test that met it most often, and where that is declared. */
  readonly test: string;
  readonly place: string;
  /** TypeScript to paste into the spec, below the line that imports its words. */
  readonly stub: string;
}

/** What `suggestMet` found: the first so many, and how many more there are. */
export interface Suggestions {
  readonly list: readonly Suggestion[];
  readonly leftOut: number;
}

/** So many suggestions are made at once. */
export const SUGGESTIONS_MAX = 20;

/** Something that was met, over all leaves. */
interface Opportunity {
  readonly kind: Suggestion['kind'];
  /** How its stub is named, after the test. */
  readonly name: string;
  /** What is one and the same in all leaves, where that is not the name. */
  readonly key?: string;
  what: string;
  open: boolean;
  count: number;
  readonly byTest: Map<string, number>;
  /** The fault that takes the other way; null where a body has to. */
  readonly fault: { readonly target: string; readonly rule: string } | null;
  readonly note: string;
}

/**
 * What leaves met and no leaf exercised: calls and answers under no fault, files of guests on
 * a disk without one, chances that never hit, rules that never acted, options that were never taken
 * (FB-25). Those that were met most often come first.
 */
export function suggestMet(
  leaves: readonly PriorLeaf[],
  { tests, services, taken }: SuggestOptions,
): Suggestions {
  const found = new Map<string, Opportunity>();
  for (const leaf of leaves) {
    for (const each of opportunitiesOf(leaf, services)) {
      const key = `${each.kind} ${each.key ?? each.name}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, each);
      else join(known, each);
    }
  }
  const bodies = new Map(tests.map(({ name, scenario }) => [name, scenario ?? name]));
  addChoices(leaves, bodies, found);
  const names = new Set(taken);
  const open = [...found.values()].filter((each) => each.open);
  open.sort((a, b) => {
    return b.count - a.count || compareText(a.kind, b.kind) || compareText(a.name, b.name);
  });
  const list = open.slice(0, SUGGESTIONS_MAX).map((each): Suggestion => {
    const test = nearest(each, tests);
    const { kind, what, count } = each;
    const stub = stubOf(each, test, names);
    return { kind, what, count, test: test.name, place: test.place, stub };
  });
  return { list, leftOut: open.length - list.length };
}

/** One leaf that exercised something is enough for all. */
function join(known: Opportunity, { open, count, byTest }: Opportunity): void {
  known.open &&= open;
  known.count += count;
  for (const [test, more] of byTest) known.byTest.set(test, (known.byTest.get(test) ?? 0) + more);
}

function opportunitiesOf(leaf: PriorLeaf, services: readonly string[]): readonly Opportunity[] {
  const { test, met } = leaf;
  const found: Opportunity[] = [];
  const add = (
    one: Omit<Opportunity, 'byTest' | 'fault' | 'note'> & Partial<Opportunity>,
    on: readonly string[],
    rule: string,
  ): void => {
    // A fault is declared on a service; the body's own node is none.
    const target = on.filter((name) => services.includes(name)).join('->');
    const byTest = new Map([[test, one.count]]);
    const fault = target === '' || rule === '' ? null : { target, rule };
    if (fault !== null || rule === '') found.push({ note: '', ...one, byTest, fault });
  };
  for (const { from, to, calls, answers, callFaulted, answerFaulted } of met.calls) {
    const call = `${from} called ${to}, and no fault was on the way`;
    const cut = `{ do: 'cut', from: [${quoteName(from)}], to: [${quoteName(to)}], at: '0s' }`;
    const kind = 'call' as const;
    add(
      { kind, name: `${from}_${to}_cut`, what: call, open: !callFaulted, count: calls },
      [from, to],
      cut,
    );
    if (answers === 0) continue;
    const answer = `${to} answered ${from}, and no fault was on the way`;
    const lossy = exhaustive(
      `do: 'degrade', nodes: [${quoteName(from)}, ${quoteName(to)}], loss: '10%'`,
    );
    add(
      {
        kind: 'answer',
        name: `${to}_${from}_lossy`,
        what: answer,
        open: !answerFaulted,
        count: answers,
      },
      [from, to],
      lossy,
    );
  }
  for (const { node, opened, faulted } of met.files) {
    const what = `${node} opened files, and its disk had no fault`;
    const rule = exhaustive(
      `do: 'disk', nodes: [${quoteName(node)}], read_error: '10%', write_error: '10%'`,
    );
    add({ kind: 'file', name: `${node}_disk`, what, open: !faulted, count: opened }, [node], rule);
  }
  for (const { stream, drawn, hits } of met.chances) {
    const { name, on, rule } = chanceOf(stream);
    const what = `the chance ${stream} was drawn and never hit`;
    add({ kind: 'chance', name, what, open: hits === 0, count: drawn }, on, rule);
  }
  const reasons = new Map(leaf.rules.map(({ name, idle }) => [name, idle]));
  for (const { name, acted, does, on } of met.rules) {
    const note = reasons.get(name) ?? '';
    const what = `the rule ${name} acted in no leaf: ${note}`;
    // Half of the leaf's time: it was under way then.
    const rule = does === null ? '' : `{ ${does}, at: '${Math.trunc(leaf.virtualNs / 2)}ns' }`;
    // A rule that does the same, and did it, is as good.
    const own = { kind: 'rule', name, key: does ?? name, what, open: !acted, count: 1 } as const;
    add({ ...own, note }, on.slice(0, 1), rule);
  }
  return found;
}

/** Each of the first occurrences happens in some leaves and not in others. */
function exhaustive(rule: string): string {
  return `{ ${rule}, at: '0s', mode: 'exhaustive', max_fires: 2 }`;
}

/** The rule that makes a stream's chance an axis. */
function chanceOf(stream: string): {
  readonly name: string;
  readonly on: readonly string[];
  readonly rule: string;
} {
  const parts = stream.split('/');
  const [first = '', from = '', to = '', what = ''] = parts;
  const key = what.replaceAll('-', '_');
  // A disk's stream also names the rule: another one that hit is as good.
  const name = parts.slice(1, 4).join('_');
  if (first !== 'link')
    return {
      name,
      on: [from],
      rule: exhaustive(`do: 'disk', nodes: [${quoteName(from)}], ${key}: '10%'`),
    };
  const rule = exhaustive(
    `do: 'degrade', nodes: [${quoteName(from)}, ${quoteName(to)}], ${key}: '10%'`,
  );
  return { name, on: [from, to], rule };
}

interface BodyChoice {
  readonly body: string;
  readonly name: string;
  readonly byTest: Map<string, number>;
  readonly taken: Set<number>;
  options: number;
  count: number;
}

/** Options are counted over all leaves of a body, whatever test runs it: each leaf takes one. */
function addChoices(
  leaves: readonly PriorLeaf[],
  bodies: ReadonlyMap<string, string>,
  found: Map<string, Opportunity>,
): void {
  const choices = new Map<string, BodyChoice>();
  for (const { test, met } of leaves) {
    const body = bodies.get(test) ?? test;
    for (const { name, options, taken } of met.choices) {
      const key = JSON.stringify([body, name]);
      const fresh = {
        body,
        name,
        byTest: new Map(),
        taken: new Set<number>(),
        options: 0,
        count: 0,
      };
      const known: BodyChoice = choices.get(key) ?? fresh;
      choices.set(key, known);
      known.byTest.set(test, (known.byTest.get(test) ?? 0) + 1);
      known.count++;
      known.options = Math.max(known.options, options);
      for (const one of taken) known.taken.add(one);
    }
  }
  for (const [key, { body, name, byTest, count, options, taken }] of choices) {
    const all = Array.from({ length: options }, (_, index) => index);
    const rest = all.filter((index) => !taken.has(index));
    const which = `option${rest.length === 1 ? '' : 's'} ${rest.join(', ')}`;
    found.set(`choice ${key}`, {
      kind: 'choice',
      name,
      what: `${body} chose ${name} of ${options}, and never took ${which} (counted from 0)`,
      open: rest.length > 0,
      count,
      byTest,
      fault: null,
      note: `choose(${JSON.stringify(name)}, [${all.join(', ')}])`,
    });
  }
}

/** Tests that run a scenario first, as it can be run again; then those that met it most often. */
function nearest({ byTest }: Opportunity, tests: readonly KnownTest[]): KnownTest {
  const met = tests.filter(({ name }) => byTest.has(name));
  met.sort((a, b) => {
    const runs = Number(b.scenario !== null) - Number(a.scenario !== null);
    return runs || (byTest.get(b.name) ?? 0) - (byTest.get(a.name) ?? 0);
  });
  const [first] = met;
  return first ?? { name: [...byTest.keys()][0] ?? '', scenario: null, place: '' };
}

function stubOf(
  each: Opportunity,
  { name: test, scenario }: KnownTest,
  names: Set<string>,
): string {
  const base = `${scenario ?? test}_${each.name}`.replaceAll(/[^A-Za-z0-9]+/g, '_');
  const lines = [
    `// ${each.kind}, met ${each.count} times: ${each.what}`.replaceAll(/[\r\n]/g, ' '),
  ];
  if (each.fault === null) {
    lines.push(`suggested.scenario('${fresh(base, names)}', async () => {`);
    lines.push(`  // To write: the body of ${test}, so that it goes the other way`);
    const note = each.note.replaceAll(/[\r\n]/g, ' ');
    lines.push(each.kind === 'choice' ? `  suggested.${note};` : `  // ${note}`, '});');
    return `${lines.join('\n')}\n`;
  }
  const fault = fresh(`${base}_fault`, names);
  const { target, rule } = each.fault;
  lines.push(`suggested.faultAssumption('${fault}', {`, `  target: ${quoteName(target)},`);
  lines.push(`  rules: [${rule}],`, '});');
  let body = scenario;
  if (body === null) {
    body = fresh(base, names);
    lines.push(`suggested.scenario('${body}', async () => {`);
    lines.push(`  // To write: the body of ${test}, and what it promises under this fault`, '});');
  }
  const own = fresh(`${base}_faulted`, names);
  lines.push(
    `suggested.faultScenario('${own}', { scenario: ${quoteName(body)}, faults: ['${fault}'] });`,
  );
  return `${lines.join('\n')}\n`;
}

/** The name, or with the first number that makes it one of its own. */
function fresh(name: string, names: Set<string>): string {
  let found = name;
  for (let number = 2; names.has(found); number++) found = `${name}_${number}`;
  names.add(found);
  return found;
}

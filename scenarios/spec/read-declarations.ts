import type { DeterminismContract, Level } from '../../sim/index.ts';
import { LEVELS } from '../../sim/index.ts';
import { readRule } from './read-rules.ts';
import { WordReader } from './read-words.ts';
import { showStatic, type Static } from './static-value.ts';
import type { Declaration, SpecAssumption, SpecCell, SpecPort, SpecService } from './spec-model.ts';

/** Without a word of the author: mediated events repeat, and a difference is an error (FB-68). */
export const DEFAULT_DETERMINISM: DeterminismContract = {
  level: 'L1',
  runtime: 'wasm',
  strict: true,
  explicit: false,
};

const SERVICE_KEYS = ['guest', 'args', 'env', 'file', 'ports', 'dependsOn', 'body'];

export function readService({ args, place }: Declaration): SpecService {
  const name = new WordReader('service()', place).text(args[0], 'its name');
  const reader = new WordReader(`service("${name}")`, place);
  const options = reader.table(args[1] ?? { kind: 'table', entries: new Map() }, SERVICE_KEYS);
  const env = new Map<string, string>();
  const given = options.get('env');
  if (given?.kind === 'table') {
    for (const [key, value] of given.entries) env.set(key, showStatic(value));
  }
  const dependsOn = reader.list(options.get('dependsOn'), 'dependsOn').map((each) => {
    return reader.name(each, ['service'], 'dependsOn');
  });
  const guest = options.get('guest');
  const isMachine =
    guest?.kind === 'table' && (guest.entries.has('machine') || guest.entries.has('vm'));
  const ports = readPorts(options.get('ports'), reader);
  return { name, ports, dependsOn, env, isMachine, place };
}

function readPorts(value: Static | undefined, reader: WordReader): SpecPort[] {
  if (value === undefined) return [];
  if (value.kind !== 'table') {
    return reader.fail('ports is no table', 'write ports: { main: { port: 7000 } }');
  }
  return [...value.entries].map(([name, port]) => {
    if (port.kind === 'value' && typeof port.value === 'number') {
      return { name, protocol: 'tcp', port: port.value };
    }
    const options = reader.table(port, ['port', 'protocol']);
    const number = options.get('port');
    const protocol = options.get('protocol');
    return {
      name,
      protocol: protocol === undefined ? 'tcp' : reader.text(protocol, 'protocol'),
      port: number?.kind === 'value' && typeof number.value === 'number' ? number.value : null,
    };
  });
}

export function readAssumption({ args, place }: Declaration): SpecAssumption {
  const name = new WordReader('faultAssumption()', place).text(args[0], 'its name');
  const reader = new WordReader(`faultAssumption("${name}")`, place);
  const options = reader.table(args[1], ['target', 'rules']);
  const target = options.get('target');
  const targets = target?.kind === 'list' ? target.items : [target];
  const rules = reader.list(options.get('rules'), 'rules');
  if (rules.length === 0) reader.fail('it has no rules', 'write rules: [{ do: "crash", ... }]');
  return {
    name,
    targets: targets.map((each) => reader.name(each, ['service'], 'target')),
    rules: rules.map((rule, index) => readRule(rule, `${name}.${index + 1}`, reader)),
    place,
  };
}

/** What runs guests: compiled ones and bodies of specs, or full machines. */
const RUNTIMES: readonly string[] = ['wasm', 'machine'];

export function readDeterminism({ args, place }: Declaration): {
  readonly contract: DeterminismContract;
  readonly seed: number | null;
} {
  const reader = new WordReader('determinism()', place);
  const options = reader.table(args[0], ['level', 'runtime', 'strict', 'seed']);
  const level = options.get('level');
  const asked = level === undefined ? DEFAULT_DETERMINISM.level : reader.text(level, 'level');
  if (!LEVELS.some((each) => each === asked)) {
    reader.fail(`"${asked}" is no level`, `there are ${LEVELS.join(', ')}`);
  }
  const runtime = options.get('runtime');
  const kind =
    runtime === undefined ? DEFAULT_DETERMINISM.runtime : reader.text(runtime, 'runtime');
  if (!RUNTIMES.includes(kind)) {
    reader.fail(`"${kind}" is no runtime`, `there are ${RUNTIMES.join(', ')}`);
  }
  if (kind === 'wasm' && asked === 'L5') {
    // Measured: bundles of wasm guests repeat byte for byte, but no instruction can be addressed.
    reader.fail('wasm guests keep levels up to L4, not L5', 'ask for L4, or run machines');
  }
  const strict = options.get('strict');
  const seed = options.get('seed');
  return {
    contract: {
      level: asked as Level,
      runtime: kind,
      strict: strict?.kind === 'value' ? strict.value !== false : DEFAULT_DETERMINISM.strict,
      explicit: true,
    },
    seed: seed?.kind === 'value' && typeof seed.value === 'number' ? seed.value : null,
  };
}

const MATRIX_KEYS = ['scenarios', 'faults', 'expect', 'overrides', 'exclude', 'timeout'];

/** A matrix's cells by scenario, in the order in which they are written. */
export function readMatrix({ args, place }: Declaration): {
  readonly cells: readonly SpecCell[];
  readonly timeout: string | null;
} {
  const reader = new WordReader('faultMatrix()', place);
  const options = reader.table(args[0], MATRIX_KEYS);
  const scenarios = reader.list(options.get('scenarios'), 'scenarios').map((each) => {
    return reader.name(each, ['scenario'], 'scenarios');
  });
  const faults = reader.list(options.get('faults'), 'faults').map((each) => {
    return reader.name(each, ['assumption'], 'faults');
  });
  if (scenarios.length === 0 || faults.length === 0) {
    const which = scenarios.length === 0 ? 'scenarios' : 'faults';
    reader.fail(`the matrix is empty: it has no ${which}`, `name at least one of its ${which}`);
  }
  const common = readExpect(options.get('expect'));
  const overrides = cellTable(reader, options.get('overrides'), ['expect']);
  const excluded = cellTable(reader, options.get('exclude'), []);
  const cells = scenarios.flatMap((scenario) => {
    return faults.flatMap((fault) => {
      const key = `${scenario}\n${fault}`;
      if (excluded.has(key)) return [];
      const own = overrides.get(key)?.get('expect');
      const expect = own === undefined ? common : readExpect(own);
      return [{ name: `${scenario}_${fault}`, scenario, fault, expect }];
    });
  });
  if (cells.length === 0) reader.fail('every cell is excluded', 'leave one of them in');
  const timeout = options.get('timeout');
  return { cells, timeout: timeout === undefined ? null : showStatic(timeout) };
}

function cellTable(
  reader: WordReader,
  value: Static | undefined,
  more: readonly string[],
): Map<string, ReadonlyMap<string, Static>> {
  const found = reader.list(value, 'a list of cells').map((item) => {
    const cell = reader.table(item, ['scenario', 'fault', ...more]);
    const scenario = reader.name(cell.get('scenario'), ['scenario'], 'scenario');
    const fault = reader.name(cell.get('fault'), ['assumption'], 'fault');
    return [`${scenario}\n${fault}`, cell] as const;
  });
  return new Map(found);
}

/** What an expectation is shown as. */
export function readExpect(value: Static | undefined): string | null {
  return value === undefined ? null : showStatic(value);
}

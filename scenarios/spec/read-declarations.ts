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
  } else if (given !== undefined && given.kind !== 'computed') {
    reader.fail(`env is ${showStatic(given)}, not a table`, 'write env: { NAME: "value" }');
  }
  const dependsOn = reader.names(options.get('dependsOn'), 'service', 'dependsOn');
  const guest = options.get('guest');
  const isMachine = guest?.kind === 'table' && guest.entries.has('machine');
  const ports = readPorts(options.get('ports'), reader);
  return { name, ports, dependsOn, env, isMachine, place };
}

function readPorts(value: Static | undefined, reader: WordReader): SpecPort[] {
  if (value === undefined) return [];
  if (value.kind !== 'table') {
    return reader.fail('ports is no table', 'write ports: { main: { port: 7000 } }');
  }
  return [...value.entries].map(([name, port]) => {
    if (port.kind !== 'table') {
      return { name, protocol: 'tcp', port: readPort(port, `ports.${name}`, reader) };
    }
    const options = reader.table(port, ['port', 'protocol']);
    const number = options.get('port');
    const protocol = options.get('protocol');
    return {
      name,
      protocol: protocol === undefined ? 'tcp' : reader.text(protocol, 'protocol'),
      port: readPort(number, `ports.${name}.port`, reader),
    };
  });
}

/** Null for a port that is computed, or left out. */
function readPort(value: Static | undefined, key: string, reader: WordReader): number | null {
  if (value?.kind === 'computed') return null;
  const port = reader.whole(value, key, 65_535);
  return port === 0 ? reader.fail(`${key} is 0`, 'give a port from 1 to 65535') : port;
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
  const given = options.get('strict');
  const strict = given?.kind === 'value' ? given.value : DEFAULT_DETERMINISM.strict;
  if (typeof strict !== 'boolean' || (given !== undefined && given.kind !== 'value')) {
    return reader.fail('strict is neither true nor false', 'write one of them');
  }
  return {
    contract: { level: asked as Level, runtime: kind, strict, explicit: true },
    seed: reader.whole(options.get('seed'), 'seed', Number.MAX_SAFE_INTEGER),
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
  const scenarios = reader.names(options.get('scenarios'), 'scenario', 'scenarios');
  const faults = reader.names(options.get('faults'), 'assumption', 'faults');
  if (scenarios.length === 0 || faults.length === 0) {
    const which = scenarios.length === 0 ? 'scenarios' : 'faults';
    reader.fail(`the matrix is empty: it has no ${which}`, `name at least one of its ${which}`);
  }
  const common = reader.expect(options.get('expect'));
  const overrides = cellTable(reader, options.get('overrides'), ['expect']);
  const excluded = cellTable(reader, options.get('exclude'), []);
  const cells = scenarios.flatMap((scenario) => {
    return faults.flatMap((fault) => {
      const key = `${scenario}\n${fault}`;
      if (excluded.has(key)) return [];
      const own = overrides.get(key)?.get('expect');
      const expect = own === undefined ? common : reader.expect(own);
      return [{ name: `${scenario}_${fault}`, scenario, fault, expect }];
    });
  });
  if (cells.length === 0) reader.fail('every cell is excluded', 'leave one of them in');
  return { cells, timeout: reader.span(options.get('timeout'), 'timeout') };
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

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import wabt from 'wabt';
import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import {
  LocalFiles,
  loadScenarioText,
  packageRoot,
  type CompiledScenario,
} from '../../scenarios/index.ts';
import {
  decodeScenario,
  encodeScenario,
  parseTrace,
  summarise,
  type Override,
} from '../../sim/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

const local = new LocalFiles(join(packageRoot(), 'scenarios', 'worlds'));

/** A scenario whose files are these, and those of the built-in worlds. */
function compile(
  toml: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): CompiledScenario {
  const result = loadScenarioText(toml, 's.toml', {
    read: (path) => {
      const own = files[path];
      return own === undefined ? local.read(path) : Buffer.from(own);
    },
    builtinGuest: (name) => local.builtinGuest(name),
  });
  if (!result.ok)
    throw new Error(result.errors.map((each) => `${each.place ?? ''} ${each.message}`).join('\n'));
  return result.scenario;
}

const engine = new WasmEngine();

function simulationOf(
  { def, images }: CompiledScenario,
  seed = 1,
  more: Partial<ConstructorParameters<typeof Simulation>[0]> = {},
): Simulation {
  return new Simulation({ scenario: def, seed, images, engine, ...more });
}

function runAll(
  scenario: CompiledScenario,
  seed = 1,
  overrides: readonly Override[] = [],
): SimulationResult {
  const simulation = simulationOf(scenario, seed, { overrides });
  simulation.runUntil({});
  const result = simulation.finish();
  simulation.dispose();
  return result;
}

const consoleOf = (result: SimulationResult, node: string): string => {
  const found = result.consoles.find((each) => each.node === node);
  return Buffer.from(found?.bytes ?? []).toString();
};

/** The line of the service's trace. */
const lineOf = (result: SimulationResult): string =>
  summarise(parseTrace(consoleOf(result, 'shop')));

/** An agent with a retry of its own; KEY makes it safe. */
const AGENT = `
export function* main({ args }) {
  const [key] = args;
  const got = yield { do: 'call', target: 'shop.get_order', args: { id: 3 }, timeout_ms: 500 };
  const { total_cents } = JSON.parse(got.body);
  const refund = { order: 3, amount_cents: total_cents, ...(key === undefined ? {} : { key }) };
  for (let attempt = 1; attempt <= 4; attempt++) {
    const reply = yield { do: 'call', target: 'shop.issue_refund', args: refund, timeout_ms: 500, call: 1 };
    yield { do: 'log', text: 'attempt ' + attempt + ': ' + reply.status };
    if (reply.status === 200) return 0;
    yield { do: 'sleep', ms: 100 * attempt };
  }
  return 1;
}`;

function agentScenario(
  options: { key?: string; faults?: string; more?: string } = {},
): CompiledScenario {
  const {
    key,
    faults = 'payments.issue_refund: { errors: { timeout: 0.5 }, latency_ms: [1, 20] }',
    more = '',
  } = options;
  return compile(
    `
schema_version = 1
name = "agent"
[guest.shop]
record = "shop.yaml"
faults = "faults.yaml"
[guest.agent]
model = "agent.mjs"
[[node]]
name = "shop"
guest = "shop"
[[node]]
name = "agent"
guest = "agent"
args = [${key === undefined ? '' : `"${key}"`}]
start = "1ms"
[[property]]
name = "done"
kind = "exit"
nodes = ["agent"]
${more}`,
    { 'agent.mjs': AGENT, 'faults.yaml': faults },
  );
}

describe('a record world as a node', () => {
  test("FH-28, FH-31: a timeout is no answer; the client's own timer fires in virtual time", () => {
    const result = runAll(
      agentScenario({ faults: 'payments.issue_refund: { errors: { timeout: 1 } }' }),
    );
    expect(lineOf(result)).toBe(
      'get_order → issue_refund!timeout → issue_refund!timeout → issue_refund!timeout → issue_refund!timeout',
    );
    expect(consoleOf(result, 'agent')).toBe(
      'attempt 1: -2\nattempt 2: -2\nattempt 3: -2\nattempt 4: -2\n',
    );
    // Four timers of 500 ms and the pauses between.
    expect(result.endNs).toBeGreaterThan(3_000_000_000);
    expect(parseTrace(consoleOf(result, 'shop')).at(-1)?.world_rev).toBe(4);
    expect(result.properties.find(({ name }) => name === 'done')?.verdict).toBe('fail');
  });

  test('FH-34: seeds draw their own faults, the same seed the same bytes', () => {
    const scenario = agentScenario();
    const lines = new Set<string>();
    for (let seed = 1; seed <= 8; seed++) {
      const [one, two] = [runAll(scenario, seed), runAll(scenario, seed)];
      expect(Buffer.from(one.events).equals(Buffer.from(two.events))).toBe(true);
      expect(one.fingerprints).toEqual(two.fingerprints);
      lines.add(lineOf(one));
    }
    expect(lines.size).toBeGreaterThan(1);
  });

  test('FH-38: the console of the service is its trace', () => {
    const trace = parseTrace(consoleOf(runAll(agentScenario({ faults: '{}' })), 'shop'));
    expect(trace.map(({ seq, tool, ok }) => [seq, tool, ok])).toEqual([
      [0, 'get_order', true],
      [1, 'issue_refund', true],
    ]);
  });

  test('an override of one decision makes one fault, and nothing else changes', () => {
    const scenario = agentScenario({
      faults: 'payments.issue_refund: { errors: { timeout: 0.000001 } }',
    });
    const stream = 'node/shop/record/payments.issue_refund/error';
    expect(lineOf(runAll(scenario))).toBe('get_order → issue_refund');
    const result = runAll(scenario, 1, [{ stream, ordinal: 0, choice: 1 }]);
    expect(lineOf(result)).toBe('get_order → issue_refund!timeout → issue_refund');
    expect(consoleOf(result, 'agent')).toBe('attempt 1: -2\nattempt 2: 200\n');
  });

  test.each(['http_500', 'http_429', 'not_found', 'empty_result', 'malformed_json'])(
    '%s reaches the client as HTTP has it',
    (kind) => {
      const faults = `payments.issue_refund: { errors: { ${kind}: 1 } }`;
      const said = consoleOf(runAll(agentScenario({ faults })), 'agent').split('\n')[0];
      const status = { http_500: 500, http_429: 429, not_found: 404 }[kind] ?? 200;
      expect(said).toBe(`attempt 1: ${status}`);
    },
  );

  test('the scenario goes through its exchange form', () => {
    const { def } = agentScenario();
    expect(decodeScenario(encodeScenario(def))).toEqual(def);
  });
});

describe('saving', () => {
  test.each([1, 2, 3, 5, 7, 11, 17])(
    'a run that goes on from quantum %i ends with the same bytes',
    (quanta) => {
      const scenario = agentScenario({ key: 'k' });
      const whole = runAll(scenario, 3);
      const first = simulationOf(scenario, 3);
      first.runUntil({ quanta });
      const checkpoint = structuredClone(first.capture());
      first.dispose();
      const second = simulationOf(scenario, 3);
      second.restore(checkpoint);
      second.runUntil({});
      const result = second.finish();
      expect(Buffer.from(result.events).equals(Buffer.from(whole.events))).toBe(true);
      expect(result.fingerprints).toEqual(whole.fingerprints);
      expect(lineOf(result)).toBe(lineOf(whole));
      second.dispose();
    },
  );

  test('a recorded run is replayed, event by event', () => {
    const scenario = agentScenario();
    const { schedule, events, fingerprints } = runAll(scenario, 5);
    const replayed = simulationOf(scenario, 99, { replay: { schedule, events } });
    replayed.runUntil({});
    expect(replayed.finish().fingerprints).toEqual(fingerprints);
    replayed.dispose();
  });

  test('a fork with another seed shares its past', () => {
    const scenario = agentScenario();
    const first = simulationOf(scenario, 1);
    first.runUntil({ virtualNs: 5_000_000 });
    const checkpoint = structuredClone(first.capture());
    first.dispose();
    const ends = [1, 2, 3, 4, 5, 6].map((seed) => {
      const fork = simulationOf(scenario, 1);
      fork.restore(checkpoint);
      fork.reseed(seed);
      fork.runUntil({});
      const line = lineOf(fork.finish());
      fork.dispose();
      return line;
    });
    expect(ends.every((line) => line.startsWith('get_order → issue_refund'))).toBe(true);
    expect(new Set(ends).size).toBeGreaterThan(1);
  });
});

describe('FH-55 in a simulation', () => {
  const refunds = (result: SimulationResult): number => {
    const trace = parseTrace(consoleOf(result, 'shop'));
    return trace.at(-1)?.world_rev ?? 0;
  };
  const faults = 'payments.issue_refund: { errors: { timeout: 0.10 } }';

  test('some of 20 seeds pay twice; with a key none does', () => {
    const seeds = Array.from({ length: 20 }, (_, index) => index + 1);
    const red = seeds.filter((seed) => refunds(runAll(agentScenario({ faults }), seed)) !== 1);
    expect(red.length).toBeGreaterThan(1);
    const again = runAll(agentScenario({ faults }), red[0]);
    expect(lineOf(again)).toBe('get_order → issue_refund!timeout → issue_refund');
    expect(refunds(again)).toBe(2);
    const green = seeds.filter(
      (seed) => refunds(runAll(agentScenario({ faults, key: 'r' }), seed)) !== 1,
    );
    expect(green).toEqual([]);
  });
});

/** Calls twice through the host, writes what came, and ends with the status of the second call. */
const CALLER = `
(module
  (import "athanor" "call" (func $call
    (param i32 i32 i32 i32 i64 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "shop.get_order")
  (data (i32.const 32) "shop.issue_refund")
  (data (i32.const 64) "{\\22id\\22:3}")
  (data (i32.const 96) "{\\22order\\22:3,\\22amount_cents\\22:1}")
  (func $say
    (i32.store (i32.const 256) (i32.const 1024))
    (i32.store (i32.const 260) (i32.load (i32.const 512)))
    (drop (call $write (i32.const 1) (i32.const 256) (i32.const 1) (i32.const 264))))
  (func (export "_start")
    (drop (call $call (i32.const 0) (i32.const 14) (i32.const 64) (i32.const 8)
      (i64.const 0) (i32.const 0) (i32.const 1024) (i32.const 4096) (i32.const 512)))
    (call $say)
    (call $exit (i32.and (i32.const 255) (call $call
      (i32.const 32) (i32.const 17) (i32.const 96) (i32.const 28)
      (i64.const 500000000) (i32.const 1) (i32.const 1024) (i32.const 4096) (i32.const 512))))))`;

async function callerScenario(source: string, faults: string): Promise<CompiledScenario> {
  const { parseWat } = await wabt();
  const caller = parseWat('caller.wat', source).toBinary({}).buffer;
  const toml = `
schema_version = 1
name = "caller"
[guest.shop]
record = "shop.yaml"
faults = "faults.yaml"
[guest.caller]
wasm = "caller.wasm"
[[node]]
name = "shop"
guest = "shop"
[[node]]
name = "caller"
guest = "caller"
start = "1ms"
`;
  return compile(toml, { 'caller.wasm': caller, 'faults.yaml': faults });
}

describe('a compiled guest that calls through the host', () => {
  const codeOf = (result: SimulationResult): unknown => result.nodes[1]?.code;

  test('gets the answer of the service, and its status', async () => {
    const result = runAll(await callerScenario(CALLER, '{}'));
    expect(JSON.parse(consoleOf(result, 'caller'))).toMatchObject({ id: 3 });
    expect(codeOf(result)).toBe(200);
    expect(lineOf(result)).toBe('get_order → issue_refund');
  });

  test('FH-28, FH-31: its own timer ends a call whose answer is lost', async () => {
    const faults = 'payments.issue_refund: { errors: { timeout: 1 } }';
    const result = runAll(await callerScenario(CALLER, faults));
    expect(codeOf(result)).toBe(-2 & 255);
    expect(result.endNs).toBeGreaterThan(500_000_000);
    expect(lineOf(result)).toBe('get_order → issue_refund!timeout');
  });

  test('goes on from a checkpoint in the middle of a call with the same bytes', async () => {
    const scenario = await callerScenario(CALLER, 'default: { latency_ms: [5, 30] }');
    const whole = runAll(scenario, 2);
    for (let quanta = 1; quanta < whole.quanta; quanta++) {
      const first = simulationOf(scenario, 2);
      first.runUntil({ quanta });
      const checkpoint = structuredClone(first.capture());
      first.dispose();
      const second = simulationOf(scenario, 2);
      second.restore(checkpoint);
      second.runUntil({});
      expect(second.finish().fingerprints).toEqual(whole.fingerprints);
      second.dispose();
    }
  });

  test.each([
    ['(i32.const 14) (i32.const 64)', '(i32.const 14) (i32.const 65535)'],
    ['(i32.const 14) (i32.const 64)', '(i32.const -1) (i32.const 64)'],
    ['(i32.const 4096) (i32.const 512)', '(i32.const 4096) (i32.const 65530)'],
    ['(i32.const 4096) (i32.const 512)', '(i32.const 65536) (i32.const 512)'],
  ])('%s as %s is a trap', async (from, to) => {
    expect(CALLER).toContain(from);
    const result = runAll(await callerScenario(CALLER.replace(from, to), '{}'));
    expect(result.nodes[1]?.status).toBe('trapped');
  });

  test('a target without a service is no connection', async () => {
    const source = CALLER.replace('"shop.issue_refund"', '"none.issue_refund"');
    expect(codeOf(runAll(await callerScenario(source, '{}')))).toBe(-1 & 255);
  });

  test('another type of the import is refused with both types', async () => {
    const other = CALLER.replace(
      '(param i32 i32 i32 i32 i64 i32',
      '(param i32 i32 i32 i32 i32 i32',
    );
    const scenario = await callerScenario(other.replaceAll('i64.const', 'i32.const'), '{}');
    expect(() => runAll(scenario)).toThrow('imports athanor.call with another type');
  });
});

describe('what is wrong with a guest', () => {
  test.each([
    ['record = "none.yaml"', 'guest.shop.record cannot read "none.yaml"'],
    ['record = "shop.yaml"\nfaults = "bad.yaml"', 'no operation is called "x.y"'],
    ['record = "shop.yaml"\nmodel = "agent.mjs"', 'a guest has one of "wasm"'],
    ['model = "agent.mjs"\nport = 81', '"port" is about a guest with "record"'],
    ['model = "broken.mjs"', 'expected'],
  ])('%s', (guest, said) => {
    const toml = `schema_version = 1\nname = "x"\n[guest.shop]\n${guest}\n[[node]]\nname = "a"\nguest = "shop"\n`;
    const files = { 'bad.yaml': 'x.y: {}', 'agent.mjs': AGENT, 'broken.mjs': 'export function {' };
    expect(() => compile(toml, files)).toThrow(said);
  });
});

import wabt from 'wabt';
import { beforeAll, describe, expect, it } from 'vitest';
import { Simulation, type SimulationResult } from '../../cli/simulation.ts';
import { scenario } from '../../scenarios/index.ts';
import { sha256, type NodeDef, type ScenarioDef } from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { prepare, type Prepared } from '../guests/simulate.ts';

/** One node with one guest, for a short virtual time. */
async function alone(guest: string, args: readonly string[], limit = '100ms'): Promise<Prepared> {
  const builder = scenario('alone')
    .node({ name: 'n', guest, args: [...args], memory_pages_max: 128 })
    .limits({ virtual_time: limit });
  return prepare(builder, [guest]);
}

function run(prepared: Prepared, seed = 1): SimulationResult {
  const simulation = new Simulation({ ...prepared, scenario: prepared.def, seed });
  try {
    simulation.runUntil({});
    return simulation.finish();
  } finally {
    simulation.dispose();
  }
}

function consoleOf(result: SimulationResult): string {
  return Buffer.from(result.consoles[0]?.bytes ?? []).toString();
}

describe('hostile guests', () => {
  it.each([
    ['trap', 'unreachable'],
    ['divide', 'integer-divide-by-zero'],
    ['write-out-of-bounds', 'out-of-bounds-memory'],
    ['recurse-in-registers', 'call-depth'],
  ])('%s: ends by a trap with a stable name, and fails the run', async (mode, code) => {
    const result = run(await alone('hostile', [mode]));
    expect(result.verdict).toBe('fail');
    expect(result.nodes[0]?.status).toBe('trapped');
    expect(result.notes.find(({ kind }) => kind === 'trap')?.text).toContain(code);
  });

  it('CR-10: a guest that loops for ever runs into the limit of virtual time', async () => {
    const result = run(await alone('hostile', ['loop']));
    expect(result).toMatchObject({ reason: 'virtual-time', verdict: 'inconclusive' });
    expect(result.endNs).toBe(100_000_000);
  });

  it('a guest that allocates for ever meets its own limit, twice alike', async () => {
    const prepared = await alone('hostile', ['allocate']);
    const first = run(prepared);
    expect(first.fingerprints).toEqual(run(prepared).fingerprints);
    expect(['exited', 'trapped', 'running']).toContain(first.nodes[0]?.status);
  });

  it('what a guest wrote before it exited in the middle of a line is kept', async () => {
    const result = run(await alone('hostile', ['exit-mid-write']));
    expect(consoleOf(result)).toBe('half a li');
    expect(result.nodes[0]).toMatchObject({ status: 'exited', code: 7 });
  });
});

describe('the doors to the host', () => {
  it('clock, environment, entropy and files are the world’s, whatever the host’s are', async () => {
    process.env['ATHANOR_TEST_DOOR'] = 'open';
    const prepared = await alone('hello', [], '5s');
    const first = consoleOf(run(prepared));
    delete process.env['ATHANOR_TEST_DOOR'];
    expect(first).toContain('realtime 1767225600.');
    expect(first).not.toContain('ATHANOR_TEST_DOOR');
    expect(first).not.toContain('variable:');
    expect(consoleOf(run(prepared))).toBe(first);
    expect(consoleOf(run(prepared, 2))).not.toBe(first);
  });

  let binary: Uint8Array;

  beforeAll(async () => {
    const { parseWat } = await wabt();
    // Opens PATH at the root directory (descriptor 3), and exits with the errno.
    const source = (path: string): string => `(module
      (import "wasi_snapshot_preview1" "path_open" (func $open
        (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (memory (export "memory") 1)
      (data (i32.const 64) "${path}")
      (func (export "_start")
        (call $exit (call $open (i32.const 3) (i32.const 1) (i32.const 64)
          (i32.const ${path.length}) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0)
          (i32.const 0)))))`;
    binary = parseWat('open.wat', source('etc/passwd')).toBinary({}).buffer;
  });

  it('no file of the host can be opened', async () => {
    const result = run(withImage(await alone('hello', []), binary));
    // 44 is NOENT: the node's disk is empty, and there is no other.
    expect(result.nodes[0]).toMatchObject({ status: 'exited', code: 44 });
  });

  it.each([
    ['env', 'emscripten_get_now'],
    ['wasi_snapshot_preview1', 'no_such_call'],
    ['wasi_unstable', 'fd_write'],
    ['wasi', 'thread-spawn'],
    ['athanor', 'preempt'],
  ])('import %s.%s is refused by name', async (module, name) => {
    const { parseWat } = await wabt();
    const source = `(module (import "${module}" "${name}" (func)) (memory (export "memory") 1)
      (func (export "_start")))`;
    const image = parseWat('unknown.wat', source).toBinary({}).buffer;
    const prepared = withImage(await alone('hello', []), image);
    const error = failure(() => run(prepared));
    expect(error.code).toMatch(/^guest\//);
    expect(error.exitCode).toBe(5);
    expect(`${error.message} ${error.place}`).toContain(name);
    expect(error.remedy).toBeTruthy();
  });
});

/** The same scenario with another image. */
function withImage(prepared: Prepared, image: Uint8Array): Prepared {
  const digest = sha256(image);
  const [node] = prepared.def.world.nodes as [NodeDef];
  const world: ScenarioDef['world'] = {
    ...prepared.def.world,
    nodes: [{ ...node, guest: { ...node.guest, image: digest } }],
  };
  return {
    ...prepared,
    def: { ...prepared.def, world },
    images: new Map([[digest, image]]),
  };
}

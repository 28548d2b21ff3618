import wabt from 'wabt';
import { Simulation } from '../cli/simulation.ts';
import { LocalFiles, scenario, type ScenarioFiles } from '../scenarios/index.ts';
import { sha256, World, type NodePort, type ScenarioDef } from '../sim/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import { link } from '../wasm/runtime/link.ts';
import { interleave, medianMs, type Benchmark, type Contender, type Figure } from './harness.ts';

const ROUNDS = 9;
const FORKS = 4000;
const WORLD_FORKS = 1000;
const FRESH = 20;
const MEMORY_BYTES = 16 * 2 ** 20;
const PAGES = MEMORY_BYTES / 4096;
/** Each fork writes to so many pages of 4 KiB, 99 pages apart: 1 % of all. */
const DIRTY_PAGES = 41;

/** Fills 16 MiB, then waits, writes to 41 pages, waits, and so on. */
const SOURCE = `(module
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 256)
  (func (export "_start") (local $at i32)
    (loop $fill
      (i32.store (local.get $at) (i32.add (local.get $at) (i32.const 7)))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $fill (i32.lt_u (local.get $at) (i32.const ${MEMORY_BYTES}))))
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 48))
    (i32.store (i32.const 16) (i32.const 1))
    (i64.store (i32.const 24) (i64.const 1000))
    (loop $again
      (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))
      (local.set $at (i32.const 405504))
      (loop $write
        (i32.store (local.get $at) (i32.add (i32.load (local.get $at)) (i32.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 405504)))
        (br_if $write (i32.lt_u (local.get $at) (i32.const ${MEMORY_BYTES}))))
      (br $again))))`;

interface Compiled {
  readonly binary: Uint8Array;
  readonly def: ScenarioDef;
  readonly images: ReadonlyMap<string, Uint8Array>;
}

async function compile(): Promise<Compiled> {
  const { parseWat } = await wabt();
  const text = parseWat('fork.wat', SOURCE, { bulk_memory: true });
  const binary = new Uint8Array(text.toBinary({}).buffer);
  const local = new LocalFiles('.');
  const files: ScenarioFiles = {
    read: () => binary,
    builtinGuest: (name) => local.builtinGuest(name),
  };
  const { def, images } = scenario('fork')
    .guest('guest', { wasm: 'fork.wasm' })
    .node({ name: 'node', guest: 'guest' })
    .limits({ virtual_time: '3600s' })
    .build(files);
  return { binary, def, images };
}

function portOf(def: ScenarioDef): NodePort {
  const ignore = (): void => undefined;
  const world = new World({
    scenario: def,
    seed: 1,
    onDecisionFrame: ignore,
    onEventFrame: ignore,
    onConsole: ignore,
    onLine: ignore,
  });
  const port = world.ports[0] as NodePort;
  port.horizonNs = Infinity;
  return port;
}

/** Forks of a guest, from the image at its first wait; each runs up to its next wait. */
function guestContenders({ binary, def }: Compiled, engine: WasmEngine): readonly Contender[] {
  const program = engine.load(sha256(binary), binary, 320);
  const port = portOf(def);
  const guest = engine.spawn(program, port, 1000);
  const effect = guest.resume({ reason: 'start', atNs: 0 });
  if (effect.kind !== 'wait') throw new Error('the guest does not wait');
  const atNs = effect.wait.deadlineNs ?? effect.atNs;
  const image = guest.capture();
  if (image.pages.size !== PAGES) throw new Error('the guest has not written all its memory');
  const digest = guest.digest();
  const copy = engine.fork(program, image, port, 1000);
  if (copy.digest() !== digest) throw new Error('a fork differs from its image');
  const fork = (): void => {
    const forked = engine.fork(program, image, port, 1000);
    forked.resume({ reason: 'deadline', atNs });
    forked.dispose();
  };
  const fresh = (): void => {
    const { memory } = link(program.modules);
    const bytes = new Uint8Array(memory.buffer, program.layout.guestBaseBytes);
    for (const [page, content] of image.pages) bytes.set(content, page * 4096);
  };
  return [
    { name: 'pooled', run: () => repeat(FORKS, fork) },
    { name: 'fresh', run: () => repeat(FRESH, fresh) },
  ];
}

/** The whole world with the guest goes back to a checkpoint, takes another seed, and runs on. */
function worldContender({ def, images }: Compiled, engine: WasmEngine): Contender {
  const simulation = new Simulation({ scenario: def, seed: 1, images, engine });
  simulation.runUntil({ quanta: 20 });
  const checkpoint = simulation.capture();
  const quanta = simulation.quanta + 1;
  let seed = 0;
  const fork = (): void => {
    simulation.restore(checkpoint);
    simulation.reseed(seed++);
    simulation.runUntil({ quanta });
  };
  return { name: 'world', run: () => repeat(WORLD_FORKS, fork) };
}

function repeat(count: number, job: () => void): void {
  for (let index = 0; index < count; index++) job();
}

/** Forks of a guest of 16 MiB that go on from instances of earlier forks, and of a whole world. */
export const forkBenchmark: Benchmark = {
  name: 'fork',
  async measure(): Promise<readonly Figure[]> {
    const compiled = await compile();
    const engine = new WasmEngine();
    const timings = interleave(
      [...guestContenders(compiled, engine), worldContender(compiled, engine)],
      ROUNDS,
    );
    const rate = (name: string, count: number): number => count / (medianMs(timings, name) / 1000);
    const note = `16 MiB, all written before; each fork writes to ${DIRTY_PAGES} pages and waits`;
    const pooled = rate('pooled', FORKS);
    const fresh = rate('fresh', FRESH);
    return [
      {
        name: 'forks of a guest, pooled',
        value: pooled,
        unit: 'forks/s',
        bar: { kind: 'at-least', value: 30_000 },
        note,
      },
      {
        name: 'against a fresh instance with full restore',
        value: pooled / fresh,
        unit: 'x',
        bar: { kind: 'at-least', value: 100 },
        note: `${Math.round(fresh)} fresh ones a second`,
      },
      {
        name: 'forks of a whole world of that guest',
        value: rate('world', WORLD_FORKS),
        unit: 'forks/s',
        bar: null,
        note: 'back to a checkpoint, another seed, one quantum',
      },
    ];
  },
};

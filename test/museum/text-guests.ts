import wabt from 'wabt';
import { Simulation } from '../../cli/simulation.ts';
import { LocalFiles, type ScenarioBuilder, type ScenarioFiles } from '../../scenarios/index.ts';
import {
  decodeDecisions,
  decodeEvents,
  LOG_DECISIONS,
  LOG_EVENTS,
  readWholeLog,
  type Decision,
  type LoggedEvent,
} from '../../sim/index.ts';
import { WasmEngine } from '../../wasm/index.ts';
import { ALL_FUNCTIONS } from '../../wasm/preview1/functions.ts';
import { outcomeOf, type Outcome, type Prepared } from '../guests/simulate.ts';

const tools = await wabt();
const TYPES = { i: 'i32', I: 'i64' } as const;

/** The import of a preview 1 function as `$NAME`, of the type that the host offers. */
function importOf(name: string): string {
  const row = ALL_FUNCTIONS.find((each) => each.name === name);
  if (row === undefined) throw new Error(`preview 1 has no ${name}`);
  const words = Array.from(row.parameters, (letter) => TYPES[letter as 'i']).join(' ');
  const type = `(param ${words}) (result i32)`;
  return `(import "wasi_snapshot_preview1" "${name}" (func $${name} ${type}))`;
}

/** What guests of a test call; their own memory is free from 256 on. */
const PRELUDE = `
  (memory (export "memory") 2)
  (func $write (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $say (param $word i32)
    (i32.store (i32.const 16) (local.get $word))
    (call $write (i32.const 16) (i32.const 4)))
  (func $say64 (param $word i64)
    (i64.store (i32.const 16) (local.get $word))
    (call $write (i32.const 16) (i32.const 8)))
  (func $draw (result i32)
    (drop (call $random_get (i32.const 32) (i32.const 4)))
    (i32.load (i32.const 32)))
  (func $time (param $clock i32) (result i64)
    (drop (call $clock_time_get (local.get $clock) (i64.const 0) (i32.const 40)))
    (i64.load (i32.const 40)))
  (func $sleep (param $ns i64)
    (memory.fill (i32.const 64) (i32.const 0) (i32.const 48))
    (i32.store (i32.const 80) (i32.const 1))
    (i64.store (i32.const 88) (local.get $ns))
    (drop (call $poll_oneoff (i32.const 64) (i32.const 128) (i32.const 1) (i32.const 8))))`;
const PRELUDE_IMPORTS = ['fd_write', 'random_get', 'clock_time_get', 'poll_oneoff'];

/** A module in the text format as it stands. */
export function assemble(source: string): Uint8Array {
  const module = tools.parseWat('guest.wat', source);
  const { buffer } = module.toBinary({});
  module.destroy();
  return buffer;
}

/** A guest of these fields after `$write`, `$say`, `$say64`, `$draw`, `$time` and `$sleep`. */
export function textGuest(fields: string, imported: readonly string[] = []): Uint8Array {
  const imports = [...PRELUDE_IMPORTS, ...imported].map(importOf).join('\n');
  return assemble(`(module ${imports} ${PRELUDE} ${fields})`);
}

/** Guests by name, and files of a folder. */
class Files implements ScenarioFiles {
  readonly #images: Readonly<Record<string, Uint8Array>>;
  readonly #local: LocalFiles;

  constructor(images: Readonly<Record<string, Uint8Array>>, folder: string) {
    this.#images = images;
    this.#local = new LocalFiles(folder);
  }

  read(path: string): Uint8Array {
    return this.#images[path] ?? this.#local.read(path);
  }

  builtinGuest(name: string): Uint8Array {
    return this.#local.builtinGuest(name);
  }
}

/** Compiles a scenario with guests by label, in an engine of its own. */
export function world(
  builder: ScenarioBuilder,
  images: Readonly<Record<string, Uint8Array>>,
  folder = '.',
): Prepared {
  for (const label of Object.keys(images)) builder.guest(label, { wasm: label });
  return { ...builder.build(new Files(images, folder)), engine: new WasmEngine({}) };
}

/** One whole run; with another world's engine it gets pooled instances of that one's guests. */
export function run(prepared: Prepared, seed: number, engine = prepared.engine): Outcome {
  const { def, images } = prepared;
  const simulation = new Simulation({ scenario: def, images, engine, seed });
  try {
    simulation.runUntil({});
    return outcomeOf(simulation.finish());
  } finally {
    simulation.dispose();
  }
}

/** What a node has written, as bytes. */
export function written({ result }: Outcome, node: string): DataView {
  const console = result.consoles.find((each) => each.node === node);
  if (console === undefined) throw new Error(`there is no node ${node}`);
  const { buffer, byteOffset, byteLength } = console.bytes;
  return new DataView(buffer, byteOffset, byteLength);
}

/** What a node has written, as 32-bit words. */
export function words(outcome: Outcome, node: string): number[] {
  const view = written(outcome, node);
  return Array.from({ length: view.byteLength / 4 }, (_, at) => view.getUint32(4 * at, true));
}

/** What a node has written, as 64-bit words. */
export function longs(outcome: Outcome, node: string): bigint[] {
  const view = written(outcome, node);
  return Array.from({ length: view.byteLength / 8 }, (_, at) => view.getBigUint64(8 * at, true));
}

export function decisions({ result }: Outcome): Decision[] {
  return [...decodeDecisions(readWholeLog(result.schedule, LOG_DECISIONS))];
}

export function events({ result }: Outcome): LoggedEvent[] {
  return [...decodeEvents(readWholeLog(result.events, LOG_EVENTS))];
}

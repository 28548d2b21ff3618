import { sha256, SimError, type ScenarioDef } from '../sim/index.ts';
import { WasmEngine } from '../wasm/index.ts';
import { runToEnd } from './record.ts';

/**
 * A tiny guest: it asks for 8 random bytes and exits by
 * returning. Written out so that the check needs no file.
 *
 *     (module
 *       (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
 *       (memory (export "memory") 1)
 *       (func (export "_start") (drop (call $random (i32.const 0) (i32.const 8)))))
 */
const TINY_GUEST = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  // Types: (i32, i32) -> i32 and () -> ().
  ...[1, 10, 2, 0x60, 2, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 0],
  ...[2, 37, 1, 22, ...ascii('wasi_snapshot_preview1'), 10, ...ascii('random_get'), 0, 0],
  ...[3, 2, 1, 1],
  ...[5, 3, 1, 0, 1],
  ...[7, 19, 2, 6, ...ascii('memory'), 2, 0, 6, ...ascii('_start'), 0, 1],
  ...[10, 11, 1, 9, 0, 0x41, 0, 0x41, 8, 0x10, 0, 0x1a, 0x0b],
]);

function ascii(text: string): number[] {
  return [...Buffer.from(text, 'latin1')];
}

/** What the engine's own modules use of WebAssembly. Throws if something is missing. */
export function checkWasmFeatures(): string {
  const features: readonly (readonly [string, readonly number[]])[] = [
    ['bulk memory', [10, 13, 1, 11, 0, 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0, 0x0b]],
    ['sign extension', [10, 8, 1, 6, 0, 0x41, 0, 0xc0, 0x1a, 0x0b]],
    ['vectors', [10, 23, 1, 21, 0, 0xfd, 12, ...Array.from({ length: 16 }, () => 0), 0x1a, 0x0b]],
  ];
  const missing = features.filter(([, code]) => {
    return !WebAssembly.validate(Uint8Array.from([...TEST_MODULE, ...code]));
  });
  if (missing.length > 0) {
    throw new SimError({
      code: 'backend/features',
      message: `the runtime lacks ${missing.map(([name]) => name).join(', ')}`,
    });
  }
  return features.map(([name]) => name).join(', ');
}

/** A module with one function of type () -> () and a memory, up to its code section. */
const TEST_MODULE = [
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 4, 1, 0x60, 0, 0],
  ...[3, 2, 1, 0],
  ...[5, 3, 1, 0, 1],
];

/** Runs the tiny guest twice and compares: the engine works and repeats itself. */
export function checkTinyRun(): string {
  const image = sha256(TINY_GUEST);
  const scenario: ScenarioDef = {
    name: 'self-check',
    world: {
      nodes: [
        {
          name: 'tiny',
          guest: { kind: 'wasm', image, label: 'tiny' },
          args: [],
          env: [],
          files: [],
          nsPerThousandInstructions: 1_000,
          memoryPagesMax: 4,
          startNs: 0,
        },
      ],
      links: [],
    },
    plan: {
      events: [],
      until: 'quiescence',
      limits: { virtualNsMax: 1_000_000_000, quantaMax: 1_000 },
    },
    properties: [{ kind: 'exit', name: 'exit', nodes: [0], code: 0 }],
    seed: 1,
  };
  const chains = [1, 2].map(() => {
    const images = new Map([[image, TINY_GUEST]]);
    const { outcome, error } = runToEnd({ scenario, images, engine: new WasmEngine() });
    if (error !== null) throw error;
    if (outcome.verdict !== 'pass') {
      throw new SimError({
        code: 'backend/self-check',
        message: `the tiny run ended with ${outcome.verdict}`,
      });
    }
    return `${outcome.decisionChain} ${outcome.eventChain} ${outcome.lastDraw}`;
  });
  if (chains[0] === chains[1]) return 'equal byte for byte';
  throw new SimError({
    code: 'backend/self-check',
    message: `two tiny runs differ: ${chains[0] ?? ''} and ${chains[1] ?? ''}`,
  });
}

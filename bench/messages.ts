import wabt from 'wabt';
import { digest32, EventLog, EventQueue } from '../sim/index.ts';
import { CONTROL } from '../wasm/instrument/layout.ts';
import { CodeStore } from '../wasm/runtime/code-store.ts';
import { link } from '../wasm/runtime/link.ts';
import { prepareProgram } from '../wasm/runtime/prepare.ts';
import { interleave, ratio, type Benchmark, type Figure } from './harness.ts';

const NODES = 100;
const IN_FLIGHT = 400;
const EVENTS = 400_000;
const ROUNDS = 7;

/** A handler of 16-byte messages: keeps a state in memory, and says to whom it sends next. */
const HANDLER = `(module
  (memory (export "memory") 1)
  (func (export "_start"))
  (func (export "on_message") (param $from i32) (param $a i32) (param $b i32) (param $c i32)
    (result i32) (local $slot i32)
    (local.set $slot (i32.and (i32.shl (local.get $from) (i32.const 4)) (i32.const 0xfff0)))
    (i32.store (local.get $slot)
      (i32.add (i32.mul (i32.load (local.get $slot)) (i32.const 1664525))
        (i32.add (local.get $a) (i32.xor (local.get $b) (local.get $c)))))
    (i32.store offset=4 (local.get $slot) (local.get $c))
    (i32.load (local.get $slot))))`;

type Handler = (from: number, a: number, b: number, c: number) => number;

interface Message {
  readonly from: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

async function makeHandlers(): Promise<readonly Handler[]> {
  const { parseWat } = await wabt();
  const binary = parseWat('handler.wat', HANDLER).toBinary({}).buffer;
  const program = prepareProgram(
    {
      kind: 'preview1',
      modules: [{ binary, sharedState: 'define', suspends: () => true, imports: [] }],
      entries: [{ module: 0, exportName: '_start', kind: 'main' }],
      hostNames: [],
      makeHost: () => {
        throw new Error('a handler has no host functions');
      },
    },
    1,
    new CodeStore(null, []),
  );
  return Array.from({ length: NODES }, () => {
    const linked = link(program.modules);
    const control = new Int32Array(linked.memory.buffer, program.layout.controlBase, 4);
    control[CONTROL.fuel] = 2 ** 31 - 1;
    return linked.instances[0]?.exports['on_message'] as Handler;
  });
}

/** Sends messages around until EVENTS have been handled; `handle` says what the next value is. */
function circulate(handle: (node: number, message: Message, atNs: number) => number): void {
  const queue = new EventQueue<Message>();
  for (let index = 0; index < IN_FLIGHT; index++) {
    queue.push(index * 1000, index % NODES, -1, { from: index % NODES, a: index, b: 1, c: 2 });
  }
  for (let count = 0; count < EVENTS; count++) {
    const { atNs, consumer, payload } = queue.pop();
    const value = handle(consumer, payload, atNs);
    const target = (value >>> 8) % NODES;
    const delayNs = 100_000 + (value >>> 20);
    const message = { from: consumer, a: value, b: payload.a, c: payload.b };
    queue.push(atNs + delayNs, target, consumer, message);
  }
}

/** Message events among tiny handlers, against the bare queue loop. */
export const messageBenchmark: Benchmark = {
  name: 'messages',
  async measure(): Promise<readonly Figure[]> {
    const handlers = await makeHandlers();
    const bytes = new Uint8Array(16);
    const view = new DataView(bytes.buffer);
    const bare = (_node: number, { a, b, c }: Message): number => {
      return (Math.imul(a, 1664525) + (b ^ c)) | 0;
    };
    const handled = (node: number, { from, a, b, c }: Message): number => {
      return (handlers[node] as Handler)(from, a, b, c);
    };
    const logged = (): void => {
      const log = new EventLog(() => undefined);
      const kind = log.kind('message');
      circulate((node, message, atNs) => {
        view.setInt32(0, message.from, true);
        view.setInt32(4, message.a, true);
        view.setInt32(8, message.b, true);
        view.setInt32(12, message.c, true);
        const value = handled(node, message);
        log.append(kind, node, atNs, digest32(bytes), value);
        return value;
      });
    };
    const timings = interleave(
      [
        { name: 'queue', run: () => circulate(bare) },
        { name: 'handlers', run: () => circulate(handled) },
        { name: 'logged', run: logged },
      ],
      ROUNDS,
    );
    const note = `${NODES} nodes, ${IN_FLIGHT} messages in flight, ${EVENTS} events, median of ${ROUNDS}`;
    const rate = (name: string): number => {
      return EVENTS / ((timings.find((each) => each.name === name)?.medianMs ?? NaN) / 1000);
    };
    return [
      { name: 'bare queue loop', value: rate('queue'), unit: 'events/s', bar: null, note },
      { name: 'with WASM handlers', value: rate('handlers'), unit: 'events/s', bar: null, note },
      {
        name: 'with WASM handlers and the event log, of the bare loop',
        value: 100 * ratio(timings, 'queue', 'logged'),
        unit: '%',
        bar: { kind: 'at-least', value: 50 },
        note,
      },
    ];
  },
};

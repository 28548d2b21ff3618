import { decodeUtf8, encodeUtf8, isUtf8, SimError } from '../../sim/index.ts';
import { functionImports } from '../binary/imports.ts';
import { KIND } from '../binary/module.ts';
import { parseModule } from '../binary/parse.ts';
import { CONTROL, instrument, TRAP, type Layout } from '../instrument/index.ts';
import { trapCode } from '../runtime/traps.ts';

/** A call of a handler executes at most so many instructions; it is the same on every machine. */
export const HANDLER_FUEL = 1_000_000_000;
/** Memory of a handler, in pages of 64 KiB: 64 MiB. */
export const HANDLER_PAGES_MAX = 1_024;
/** A text that crosses the border has at most so many bytes. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024;

const HOST_MODULE = 'athanor';
/** What a handler may import, with its type. */
const HOST_FUNCTIONS: Readonly<Record<string, readonly [parameters: number, results: number]>> = {
  ask: [2, 1],
  answer: [2, 1],
  reply: [2, 0],
  refuse: [2, 0],
};

/** Libraries link functions of WASI that a handler never needs: each answers `nosys`. */
const WASI_MODULE = 'wasi_snapshot_preview1';
const NOSYS = 52;

/** What became of a call: what it replied, how it refused, or why it broke. */
export type HandlerReply =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'refusal'; readonly message: string }
  | { readonly kind: 'crash'; readonly message: string };

/** Thrown through the handler's frames to end it. */
class HandlerEnd extends Error {}

/**
 * Handlers of a record world as compiled WebAssembly. Each call gets an instance of its own, so that
 * no state is left; its instructions are counted, its NaNs are canonical, and it sees no host but
 * the four functions of `athanor` (see guests/sdk/c/include/athanor/handler.h). Throws `guest/…`
 * with the offset for a module that is malformed, and `scenario/handler` for other imports.
 */
export class HandlerModule {
  /** Names of the functions that it exports. */
  readonly functions: readonly string[];
  private readonly module: WebAssembly.Module;
  private readonly layout: Layout;
  private readonly wasi: readonly string[];

  constructor(name: string, bytes: Uint8Array) {
    const { exports, imports } = checkImports(name, bytes);
    this.wasi = imports.filter(({ module }) => module === WASI_MODULE).map((each) => each.name);
    this.functions = exports.filter((each) => each.kind === KIND.function).map((each) => each.name);
    const { binary, layout } = instrument(
      bytes,
      {
        nan: true,
        fuel: true,
        depth: true,
        suspend: 'none',
        dirtyPages: false,
        memoryPagesMax: HANDLER_PAGES_MAX,
      },
      () => false,
    );
    this.module = new WebAssembly.Module(binary);
    this.layout = layout;
  }

  /**
   * Calls an exported function without arguments. `input` is the first answer; `ask` gives those to
   * its questions, all texts. What `ask` throws ends the call and comes out of it.
   */
  call(name: string, input: string, ask: (question: string) => string): HandlerReply {
    const { module, layout, wasi } = this;
    return new HandlerCall({ module, layout, wasi }, input, ask).run(name);
  }
}

/** One call: an instance, the last answer, and what was replied. */
class HandlerCall {
  private readonly memory: WebAssembly.Memory;
  private readonly exports: Readonly<Record<string, unknown>>;
  private readonly layout: Layout;
  private readonly ask: (question: string) => string;
  private answer: Uint8Array;
  private reply: HandlerReply = { kind: 'value', text: 'null' };
  private failure: { readonly error: unknown } | null = null;
  private broken: string | null = null;
  private trapNumber = 0;

  constructor(
    code: {
      readonly module: WebAssembly.Module;
      readonly layout: Layout;
      readonly wasi: readonly string[];
    },
    input: string,
    ask: (question: string) => string,
  ) {
    const { module, layout, wasi } = code;
    this.layout = layout;
    this.ask = ask;
    this.answer = encodeUtf8(input);
    const refused = (name: string) => (): number => {
      return name === 'proc_exit' ? this.end('it exited') : NOSYS;
    };
    const instance = new WebAssembly.Instance(module, {
      [WASI_MODULE]: Object.fromEntries(wasi.map((name) => [name, refused(name)])),
      [HOST_MODULE]: {
        preempt: () => this.end(`it executed more than ${HANDLER_FUEL} instructions`),
        trap: (code: number) => {
          this.trapNumber = code;
        },
        ask: (at: number, size: number) => this.asked(at, size),
        answer: (at: number, size: number) => this.copyAnswer(at, size),
        reply: (at: number, size: number) => {
          this.reply = { kind: 'value', text: this.text(at, size) };
        },
        refuse: (at: number, size: number) => {
          this.reply = { kind: 'refusal', message: this.text(at, size) };
        },
      },
    });
    this.exports = instance.exports;
    this.memory = instance.exports[layout.memory.exportName] as WebAssembly.Memory;
  }

  run(name: string): HandlerReply {
    const control = this.control();
    control[CONTROL.state] = 0;
    control[CONTROL.fuel] = HANDLER_FUEL;
    control[CONTROL.depth] = this.layout.depthBudgetBytes;
    try {
      if (this.layout.start) this.callExport('athanor:start');
      if (name !== '_initialize') this.callExport('_initialize');
      this.callExport(name);
    } catch (error) {
      if (this.failure !== null) throw this.failure.error;
      return { kind: 'crash', message: this.broken ?? this.describe(error) };
    }
    return this.reply;
  }

  private callExport(name: string): void {
    const found = this.exports[name];
    if (typeof found === 'function') (found as () => unknown)();
  }

  private describe(error: unknown): string {
    if (this.trapNumber === TRAP.depth) return 'its calls are too deep';
    if (error instanceof WebAssembly.RuntimeError) return `it trapped: ${trapCode(error.message)}`;
    throw error;
  }

  private asked(at: number, size: number): number {
    const question = this.text(at, size);
    try {
      this.answer = encodeUtf8(this.ask(question));
    } catch (error) {
      this.failure = { error };
      this.end('the run has ended');
    }
    return this.answer.length;
  }

  private copyAnswer(at: number, size: number): number {
    const part = this.answer.subarray(0, size >>> 0);
    this.range(at, part.length).set(part);
    return this.answer.length;
  }

  private text(at: number, size: number): string {
    const bytes = this.range(at, size);
    if (bytes.length > TEXT_BYTES_MAX) this.end(`a text has more than ${TEXT_BYTES_MAX} bytes`);
    if (!isUtf8(bytes)) this.end('a text is not UTF-8');
    return decodeUtf8(bytes);
  }

  private range(at: number, size: number): Uint8Array {
    const bytes = new Uint8Array(this.memory.buffer, this.layout.guestBaseBytes);
    const [first, last] = [at >>> 0, (at >>> 0) + (size >>> 0)];
    if (last > bytes.length) this.end('a text lies outside of its memory');
    return bytes.subarray(first, last);
  }

  private control(): Int32Array {
    return new Int32Array(this.memory.buffer, this.layout.controlBase, 4);
  }

  /** Handlers of the module's own exceptions cannot catch it: they trap. */
  private end(why: string): never {
    this.broken ??= why;
    this.control()[CONTROL.state] = 3;
    throw new HandlerEnd(why);
  }
}

function checkImports(name: string, bytes: Uint8Array): ReturnType<typeof parseModule> {
  const parsed = parseModule(bytes);
  const types = functionImports(bytes);
  for (const each of parsed.imports) {
    const form = each.module === HOST_MODULE ? HOST_FUNCTIONS[each.name] : undefined;
    const type = types.find((type) => type.module === each.module && type.name === each.name);
    if (each.kind === KIND.function && each.module === WASI_MODULE) continue;
    const isSound =
      each.kind === KIND.function &&
      form !== undefined &&
      type !== undefined &&
      [...type.parameters, ...type.results].every((value) => value === 'i32') &&
      type.parameters.length === form[0] &&
      type.results.length === form[1];
    if (isSound) continue;
    throw new SimError({
      code: 'scenario/handler',
      message: `the module imports ${each.module}.${each.name}, which handlers have not`,
      place: `${name}.wasm, offset ${each.start}`,
      remedy: `import from ${HOST_MODULE} only ${Object.keys(HOST_FUNCTIONS).join(', ')}, of i32`,
    });
  }
  return parsed;
}

import type { GuestPort, Wait } from '../../sim/index.ts';
import type { HostContext, Resumed } from '../../wasm/runtime/host-context.ts';
import { FlatReader, type CoreValue } from '../../wasm/component/abi/core-values.ts';
import { flatSignature, planLowering } from '../../wasm/component/abi/function.ts';
import { HandleTable, type HandleValue } from '../../wasm/component/abi/handle-table.ts';
import { Transfer } from '../../wasm/component/abi/transfer.ts';
import { ComponentHost } from '../../wasm/component/component-host.ts';
import type { BoundImport } from '../../wasm/component/guest-program.ts';
import type { HostFunctionRow } from '../../wasm/component/host-table.ts';
import { HOST_INTERFACES, hostFunction } from '../../wasm/component/registry.ts';
import { parseWat } from './encode.ts';

/** Memory and the allocator that the canonical ABI wants; 16 pages, nothing is ever freed. */
const ALLOCATOR = parseWat(`(module
  (memory (export "memory") 16)
  (global $next (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get 2))))
    (global.set $next (i32.add (local.get $at) (local.get 3)))
    (local.get $at)))`);

/** How a guest's call ended it. */
export class GuestEnd extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A handle as the guest has it: a number. */
export interface Handle {
  readonly handle: number;
}

/** On the guest's side a resource is its handle, whatever the type says it is. */
class RawHandles extends HandleTable {
  override add(_: string, value: HandleValue): number {
    return (value as Handle).handle;
  }
  override get(_: string, handle: number): HandleValue {
    return { handle };
  }
  override remove(_: string, handle: number): HandleValue {
    return { handle };
  }
}

class GuestSide extends Transfer {
  override lend(_: string, value: HandleValue): number {
    return (value as Handle).handle;
  }
}

/**
 * A guest whose program is the test itself: it calls the host functions as a core module would,
 * with real memory and a real allocator, values lowered and lifted by their types. Each call checks
 * that the host wrote nowhere but where it said so.
 */
export class DirectGuest implements HostContext {
  readonly port: GuestPort;
  readonly host: ComponentHost;
  resumed: Resumed = null;
  waitStartNs = 0;
  /** Called when a call waits; must let its wait end. */
  onWait: (wait: Wait) => void;
  readonly waits: Wait[] = [];
  /** Whether each call's writes are checked, which takes a look at the whole memory. */
  checksWrites = true;
  private readonly side: Transfer;
  private readonly buffer: ArrayBuffer;
  private readonly realloc: (p: number, s: number, a: number, n: number) => number;
  private readonly indexes = new Map<string, number>();
  private readonly rows: HostFunctionRow[] = [];
  private pending: Wait | null = null;
  private touches: [offset: number, length: number][] = [];

  private constructor(instance: WebAssembly.Instance, port: GuestPort) {
    this.port = port;
    this.buffer = (instance.exports.memory as WebAssembly.Memory).buffer;
    this.realloc = instance.exports.cabi_realloc as typeof this.realloc;
    this.side = new GuestSide(this, new RawHandles(), 'utf8', this.realloc);
    this.onWait = (wait) => {
      port.nowNs = wait.deadlineNs ?? port.nowNs;
    };
    const imports: BoundImport[] = [];
    const names: string[] = [];
    const realloc = { module: 0, name: 'cabi_realloc' };
    for (const { name, functions, resources } of HOST_INTERFACES) {
      for (const { name: own } of functions) {
        const row = hostFunction(`${name}#${own}`);
        if (row === undefined) throw new Error(`there is no ${own}`);
        this.indexes.set(`${name}#${row.name}`, imports.length);
        this.rows[imports.length] = row;
        const lowering = planLowering(row.type);
        imports.push({ kind: 'function', row, lowering, encoding: 'utf8', realloc });
        names.push(`${name}#${row.name}`);
      }
      for (const row of resources) {
        this.indexes.set(`drop ${row.name}`, imports.length);
        const resource = row.name;
        imports.push({ kind: 'resource', operation: 'drop', resource, row, destructor: null });
        names.push(`${row.name} drop`);
      }
    }
    const program = { imports, hostNames: names, returnsResult: true };
    this.host = new ComponentHost(program, this);
    this.host.attach([instance]);
  }

  static async make(port: GuestPort): Promise<DirectGuest> {
    const module = new WebAssembly.Module(await ALLOCATOR);
    return new DirectGuest(new WebAssembly.Instance(module), port);
  }

  /** Calls `wasi:io/poll#poll`; the `[method]` of methods may be left out. */
  call(name: string, ...values: unknown[]): unknown {
    const index = this.indexes.get(name) ?? this.indexes.get(name.replace('#', '#[method]'));
    if (index === undefined) throw new Error(`there is no ${name}`);
    const { type } = this.rows[index];
    const core = this.lowerArguments(index, values);
    const { results } = flatSignature(type);
    const area = type.result !== null && results.length === 0 ? type.result : null;
    const areaAt = area === null ? 0 : this.allocate(area.size, area.alignment);
    if (area !== null) core.push(areaAt);
    const result = this.makeCall(index, core);
    if (area !== null) return area.load(this.side, areaAt);
    if (type.result === null) return undefined;
    return type.result.lift(this.side, new FlatReader([result as CoreValue], results));
  }

  drop(resource: string, { handle }: Handle): void {
    const index = this.indexes.get(`drop ${resource}`);
    if (index === undefined) throw new Error(`there is no ${resource}`);
    this.makeCall(index, [handle]);
  }

  private lowerArguments(index: number, values: readonly unknown[]): CoreValue[] {
    const { params } = this.rows[index].type;
    const core: CoreValue[] = [];
    params.forEach((type, at) => type.lower(this.side, core, values[at]));
    return core;
  }

  /** The call itself, again after each wait. */
  private makeCall(index: number, core: readonly CoreValue[]): unknown {
    const before = new Uint8Array(this.buffer).slice(0, this.checksWrites ? undefined : 0);
    this.touches = [];
    this.waitStartNs = this.port.nowNs;
    this.resumed = null;
    for (;;) {
      const result = this.host.functions[index](...core);
      const wait = this.pending;
      if (wait === null) {
        if (this.checksWrites) this.checkTouches(before);
        return result;
      }
      this.pending = null;
      this.waits.push(wait);
      this.onWait(wait);
      const at = wait.deadlineNs !== null && this.port.nowNs >= wait.deadlineNs;
      this.resumed = at ? 'deadline' : 'ready';
    }
  }

  private checkTouches(before: Uint8Array): void {
    const after = new Uint8Array(this.buffer);
    for (const [offset, length] of this.touches) {
      before.set(after.subarray(offset, offset + length), offset);
    }
    if (!Buffer.from(this.buffer).equals(before)) {
      const at = after.findIndex((byte, index) => byte !== before[index]);
      throw new Error(`the host wrote to ${at} without saying so`);
    }
  }

  private allocate(size: number, alignment: number): number {
    return this.realloc(0, 0, alignment, size);
  }

  memory(): DataView {
    return new DataView(this.buffer);
  }
  bytes(): Uint8Array {
    return new Uint8Array(this.buffer);
  }
  memoryBytes(): number {
    return this.buffer.byteLength;
  }
  touched(offset: number, length: number): void {
    this.touches.push([offset, length]);
  }
  block(wait: Wait): 0 {
    this.pending = wait;
    return 0;
  }
  charge(ns: number): void {
    this.port.nowNs += ns;
  }
  localNs(): number {
    return this.port.nowNs;
  }
  reenter<Result>(call: () => Result): Result {
    return call();
  }
  exit(code: number): never {
    throw new GuestEnd('exit', String(code));
  }
  trap(code: string, message: string): never {
    throw new GuestEnd(code, message);
  }
}

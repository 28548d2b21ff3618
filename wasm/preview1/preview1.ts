import { CallClient, ROOT } from '../../sim/index.ts';
import type { HostContext } from '../runtime/host-context.ts';
import type { HostFunction } from '../runtime/host-set.ts';
import { RIGHTS_ALL, RIGHTS_DIRECTORY, RIGHTS_INPUT, RIGHTS_OUTPUT } from './abi.ts';
import { bindFunction } from './bind.ts';
import { makeCall } from './call.ts';
import { ALL_FUNCTIONS, type FunctionRow } from './functions.ts';
import { Host } from './host.ts';
import { openListeners, type Listener } from './listeners.ts';
import { makeMarker } from './marker.ts';
import { readState, type Preview1State } from './state.ts';

/** The module that preview 1 programs import from, and ours for what WASI has no word for. */
export const WASI_MODULE = 'wasi_snapshot_preview1';
export const OWN_MODULE = 'athanor';

export interface Preview1Options {
  /** Sockets that are open when the program starts, as descriptors after the preopened folders. */
  readonly listeners?: readonly Listener[];
}

type Imports = Readonly<Record<string, Readonly<Record<string, HostFunction>>>>;

/**
 * WASI snapshot preview 1 and the socket extension of WasmEdge for one guest. Descriptors 0 to 2
 * are the console, 3 and 4 the root directory, preopened as `/` and as `.`.
 */
export class Preview1 {
  private made: Imports | null = null;
  private readonly host: Host;
  private readonly listeners: readonly Listener[];
  private started: boolean;
  /** Of a program that calls services through the host. */
  private client: CallClient | null = null;

  constructor(context: HostContext, options: Preview1Options = {}) {
    this.host = new Host(context);
    this.listeners = options.listeners ?? [];
    this.started = this.listeners.length === 0;
    const { descriptors } = this.host;
    const common = { flags: 0, inheriting: 0 };
    descriptors.add({ kind: 'console', stream: 0, rights: RIGHTS_INPUT, ...common });
    descriptors.add({ kind: 'console', stream: 1, rights: RIGHTS_OUTPUT, ...common });
    descriptors.add({ kind: 'console', stream: 2, rights: RIGHTS_OUTPUT, ...common });
    for (const preopen of ['/', '.']) {
      const rights = RIGHTS_DIRECTORY;
      const inheriting = RIGHTS_ALL;
      descriptors.add({ kind: 'directory', inode: ROOT, preopen, flags: 0, rights, inheriting });
    }
  }

  /** By module and name; where a name has two forms, that of the standard. */
  get imports(): Imports {
    if (this.made !== null) return this.made;
    const forms: Record<string, HostFunction> = {};
    for (const row of ALL_FUNCTIONS) forms[row.name] ??= this.bind(row);
    this.made = { [WASI_MODULE]: forms, [OWN_MODULE]: { marker: this.bindMarker() } };
    return this.made;
  }

  /** Whether a call of this import may make the guest wait. */
  static suspends(module: string, name: string): boolean {
    return module === WASI_MODULE && ALL_FUNCTIONS.some((row) => row.name === name && row.blocks);
  }

  /** The host function of a row; needed by itself for the other form of a name. */
  bind(row: FunctionRow): HostFunction {
    const bound = bindFunction(this.host, row);
    if (this.listeners.length === 0) return bound;
    return (...args) => {
      if (!this.started) this.start();
      return bound(...args);
    };
  }

  /** `athanor.marker`. */
  bindMarker(): HostFunction {
    return makeMarker(this.host);
  }

  /** `athanor.call`. */
  bindCall(): HostFunction {
    this.client ??= new CallClient(this.host.port);
    return makeCall(this.host, this.client);
  }

  /** The state as canonical plain data. Open files stay open by the file system's own state. */
  capture(): unknown {
    const { descriptors, progress } = this.host;
    const state: Preview1State = {
      descriptors: descriptors.capture(),
      progress,
      started: this.started,
      ...(this.client === null ? {} : { client: this.client.capture() }),
    };
    return state;
  }

  restore(state: unknown): void {
    const { descriptors, progress, started, client } = readState(state, 'preview1');
    if (client !== undefined) this.client?.restore(client);
    this.host.descriptors.restore(descriptors);
    this.host.progress = progress;
    this.started = started;
  }

  /** What must wait for the guest to run: making its host must change nothing in the world. */
  private start(): void {
    this.started = true;
    openListeners(this.host, this.listeners);
  }
}

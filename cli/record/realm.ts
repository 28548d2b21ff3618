import vm from 'node:vm';
import { decodeUtf8, SimError } from '../../sim/index.ts';
import { CAUGHT, type HandlerModule } from '../../scenarios/index.ts';
import { realmBootstrap } from './realm-bootstrap.ts';

/** What a realm answers: a value, or how it failed. */
export type RealmReply =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly refusal: string; readonly message: string }
  | { readonly kind: 'crash'; readonly message: string };

/** What a script asks of the world around it; answers are RealmReply. */
export type RealmBridge = (request: Readonly<Record<string, unknown>>) => unknown;

interface RealmApi {
  define(name: string, program: unknown): void;
  exportsOf(name: string): string;
  handle(text: string): string;
  start(text: string): string;
  next(text: string): string;
}

/** A script that runs longer than this is taken for one that never ends: never a result. */
const SCRIPT_MS_MAX = 10_000;

/**
 * A place where scripts run that see no host: no time, chance, locale, network, files, timers, no
 * state that is left from one call to the next, and no object from outside. Texts go in and out.
 */
export class Realm {
  private readonly context: vm.Context;
  private readonly api: RealmApi;
  private readonly call: vm.Script;
  private bridge: RealmBridge = () => null;
  /** What failed on our side while a script ran: told once it has let go, so that it cannot catch it. */
  private failure: { readonly error: unknown } | null = null;

  /** Throws `scenario/handler` for a module that is no script. */
  constructor(modules: readonly HandlerModule[]) {
    this.context = vm.createContext(Object.create(null) as object, {
      codeGeneration: { strings: false, wasm: false },
      // What a script leaves to promises would go on after its call, without a limit: it never does.
      microtaskMode: 'afterEvaluate',
    });
    const bootstrap = vm.runInContext(realmBootstrap(), this.context) as (
      bridge: (text: string) => string,
    ) => RealmApi;
    this.api = bootstrap((text) => this.answer(text));
    // A call within a script of its own, since only scripts can be given a limit.
    this.call = new vm.Script('run()');
    for (const module of modules) this.define(module);
  }

  /** The names that a module exports. */
  exportsOf(module: string): readonly string[] {
    const reply = this.enter(() => this.api.exportsOf(module));
    if (reply.kind === 'value') return reply.value as readonly string[];
    throw new SimError({
      code: 'scenario/handler',
      message: `the module cannot be run: ${reply.message}`,
      place: module,
      remedy: 'a module of handlers only declares and exports functions, and imports nothing',
    });
  }

  /** Calls a handler; what it asks meanwhile goes to `bridge`. */
  handle(input: Readonly<Record<string, unknown>>, bridge: RealmBridge): RealmReply {
    this.bridge = bridge;
    return this.enter(() => this.api.handle(JSON.stringify(input)));
  }

  /** Begins a model's generator; one a realm. */
  start(module: string, name: string, input: unknown): RealmReply {
    return this.enter(() => this.api.start(JSON.stringify({ module, name, input })));
  }

  /** Goes on with the model: what it yields next, `{done, value}`. */
  next(input: unknown): RealmReply {
    return this.enter(() => this.api.next(JSON.stringify(input)));
  }

  private define({ name, bytes }: HandlerModule): void {
    const names = `exports, module, require, Refusal, ${CAUGHT}`;
    const source = `(function (${names}) { 'use strict';${decodeUtf8(bytes)}\n})`;
    try {
      const program: unknown = new vm.Script(source, { filename: name }).runInContext(this.context);
      this.api.define(name, program);
    } catch (error) {
      throw new SimError({
        code: 'scenario/handler',
        message: `the module is no script: ${error instanceof Error ? error.message : 'unknown'}`,
        place: name,
        remedy: 'mend the module',
        cause: error,
      });
    }
  }

  /**
   * Runs something of the realm with a limit of time. What escapes its own net is a crash; the limit
   * itself is no result of the run, since it depends on the host: it throws `guest/spin`.
   */
  private enter(run: () => string): RealmReply {
    this.failure = null;
    const reply = this.attempt(run);
    this.throwFailure();
    return reply;
  }

  private throwFailure(): void {
    const { failure } = this;
    this.failure = null;
    if (failure !== null) throw failure.error;
  }

  private attempt(run: () => string): RealmReply {
    try {
      const holder = vm.createContext({ run });
      const text = this.call.runInContext(holder, { timeout: SCRIPT_MS_MAX }) as string;
      return JSON.parse(text) as RealmReply;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
        throw new SimError({
          code: 'guest/spin',
          message: `a script ran for ${SCRIPT_MS_MAX / 1_000} s without an end`,
          remedy: 'let it end, or let it wait in virtual time',
        });
      }
      return { kind: 'crash', message: error instanceof Error ? error.message : 'unknown' };
    }
  }

  private answer(text: string): string {
    try {
      const request = JSON.parse(text) as Readonly<Record<string, unknown>>;
      return JSON.stringify(this.bridge(request));
    } catch (error) {
      this.failure ??= { error };
      return JSON.stringify({ kind: 'crash', message: 'the run has ended' });
    }
  }
}

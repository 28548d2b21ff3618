import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, Script, type Context } from 'node:vm';
import { SimError } from '../../sim/index.ts';
import { packageRoot } from '../package-root.ts';
import { FaultServer } from './fault-server.ts';
import { CAUGHT } from './model-format.ts';
import { STEP_WALL_MS_MAX, type Watch } from './watch.ts';

/** A guest inside the realm: only the realm looks into it. */
export type RealmGuest = object;

/** Answers one operation of a body: JSON in, JSON out. Never throws. */
export type RealmHost = (operation: string, args: string) => string;

/** The compiled modules of a spec, an object of the realm. */
export type RealmModules = object;

/** What the realm's own code offers (see realm/main.js). */
interface RealmCode {
  modules(): Map<string, unknown>;
  declarations(host: RealmHost, main: string, modules: RealmModules): string;
  open(host: RealmHost): RealmGuest;
  prepare(kind: 'start' | 'step', guest: RealmGuest, ...args: readonly unknown[]): void;
  state(guest: RealmGuest): string;
  enter(guest: RealmGuest | null): void;
  describe(error: unknown): string;
}

/** What a guest waits for. */
export interface RealmState {
  readonly outcome: { readonly outcome: string; readonly message: string } | null;
  readonly interests: readonly RealmInterest[];
  readonly timer: RealmTimer | null;
  /** Branches whose steps are ordered; absent where there are none. */
  readonly group?: RealmGroup;
}

export interface RealmInterest {
  readonly socket: number;
  readonly readiness: 'read' | 'write';
  /** The branch that waits, or null; absent where steps are not ordered. */
  readonly branch?: number | null;
}

export interface RealmTimer {
  readonly id: number;
  readonly atNs: number;
}

/** Branches of which one goes on at a time. */
export interface RealmGroup {
  readonly number: number;
  readonly branches: readonly {
    readonly branch: number | null;
    /** Whether it has yet to begin. */
    readonly begins: boolean;
    /** The one that is due first. */
    readonly timer: RealmTimer | null;
  }[];
  /** Whether all have ended, or one has failed: the body goes on. */
  readonly ended: boolean;
}

/** How a guest goes on: a waiter by its place, a timer by its id, a branch that begins, or its body. */
export const STEP_KINDS = ['waiter', 'timer', 'branch', 'join'] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/**
 * A JavaScript realm without a host: no timers but virtual ones, no clock but the node's, no entropy but
 * the world's, no modules but the spec's. Built-ins are frozen, so that many bodies can use one realm
 * and none leaves a trace. It keeps honest code deterministic; it is no jail for hostile code.
 */
export class Realm {
  private readonly context: Context;
  private readonly code: RealmCode;
  private readonly turn = new Script('__athanor_turn()');
  private readonly watch: Watch;

  constructor(watch: Watch) {
    this.watch = watch;
    this.context = createContext(Object.create(null) as object, {
      codeGeneration: { strings: false, wasm: false },
      // Promises of the realm go on within the turn that resolved them, never later.
      microtaskMode: 'afterEvaluate',
    });
    const script = new Script(realmText(), { filename: 'realm.js' });
    this.code = script.runInContext(this.context) as RealmCode;
  }

  /** Compiles modules: functions by file name, in their order. */
  compile(modules: readonly { readonly name: string; readonly code: string }[]): RealmModules {
    const compiled = this.code.modules();
    for (const { name, code } of modules) {
      // Strict, so that nothing leads to the realm's own global object.
      const text = `(function (require, exports, globalThis, ${CAUGHT}) {'use strict';${code}\n})`;
      const script = new Script(text, { filename: `spec:${name}` });
      compiled.set(name, script.runInContext(this.context));
    }
    return compiled;
  }

  /** What a spec declares: JSON of `{ declared }` or `{ failed }`. */
  declarations(host: RealmHost, main: string, modules: RealmModules): string {
    return this.code.declarations(host, main, modules);
  }

  open(host: RealmHost): RealmGuest {
    return this.code.open(host);
  }

  start(guest: RealmGuest, main: string, modules: RealmModules, key: string): void {
    this.code.prepare('start', guest, main, modules, key);
    this.run(guest);
  }

  step(guest: RealmGuest, kind: StepKind, which: number): void {
    this.code.prepare('step', guest, kind, which);
    this.run(guest);
  }

  state(guest: RealmGuest): RealmState {
    return JSON.parse(this.code.state(guest)) as RealmState;
  }

  /** What an error of the realm says, with its place in the spec's code. */
  describe(error: unknown): string {
    return this.code.describe(error);
  }

  private run(guest: RealmGuest): void {
    this.code.enter(guest);
    try {
      if (this.watch.step(this.turn, this.context)) return;
      // The host's time decides here, so it can be no result of the run.
      throw new SimError({
        code: 'guest/spin',
        message: `a body ran for ${STEP_WALL_MS_MAX / 1_000} s without an end`,
        remedy: 'let it end, or let it wait in virtual time: await sleep(1)',
      });
    } finally {
      this.code.enter(null);
    }
  }
}

/** A part of a realm's own code: an expression in `scenarios/model/realm/`. */
export function realmPart(name: string): string {
  const text = readFileSync(join(realmFolder(), `${name}.js`), 'utf8');
  return `(${text.trimEnd().replace(/;$/, '')})`;
}

function realmFolder(): string {
  return join(packageRoot(), 'scenarios', 'model', 'realm');
}

/** The realm's own code as one expression, so that all of it is made within the realm. */
function realmText(): string {
  const names = readdirSync(realmFolder()).filter((name) => name.endsWith('.js'));
  const parts = names.map((name) => name.slice(0, -'.js'.length)).sort();
  const list = parts.map((name) => `${name}: ${realmPart(name)}`).join(',\n');
  return `(() => { 'use strict'; const parts = {${list}};
return parts.main(parts, ${FaultServer.toString()}); })()`;
}

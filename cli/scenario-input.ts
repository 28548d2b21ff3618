import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import {
  builtinScenarioNames,
  builtinScenarioText,
  didYouMean,
  loadScenarioBytes,
  readInput,
  type CompiledScenario,
  type CompileResult,
} from '../scenarios/index.ts';
import {
  decodeScenario,
  guestsOf,
  imagesOfGuest,
  SimError,
  type PlanDef,
  type ScenarioDef,
} from '../sim/index.ts';
import { openBundle } from './bundle.ts';
import type { Context } from './context.ts';
import { ErrorList } from './errors.ts';
import { CommandFiles } from './scenario-files.ts';
import { Store } from './store.ts';

/** What `sim run` runs when nobody says what. */
export const DEFAULT_SCENARIO = 'raft';

/** Finds a scenario: an id in the store, a file, a built-in name, else an error (CR-50). */
export function findScenario(text: string | undefined, context: Context): CompiledScenario {
  const name = text ?? DEFAULT_SCENARIO;
  if (Store.isAddress(name)) {
    const stored = context.store.getScenario(name);
    if (stored !== null) return { ...stored, sources: [] };
  }
  const path = context.path(name);
  if (existsSync(path)) return readScenario(path, name, context);
  const builtin = builtinScenarioText(name);
  if (builtin !== null) return compileText(Buffer.from(builtin), `${name}.toml`, context);
  const names = builtinScenarioNames();
  throw new SimError({
    code: 'scenario/missing',
    message: `missing scenario: "${name}" is no id in the store, no file and no built-in scenario${didYouMean(name, names)}`,
    place: name,
    remedy: `give a file, or one of the built-in scenarios ${names.join(', ')}`,
  });
}

/** A file may hold a scenario's text, its canonical form, or a bundle that a run left. */
function readScenario(path: string, shown: string, context: Context): CompiledScenario {
  const bytes = readInput(path, shown);
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
    const { scenario: def, images, sources } = openBundle(bytes);
    return { def, images, sources };
  }
  // Canonical CBOR of a map: its first byte is no character that a text could start with.
  if ((bytes[0] ?? 0) >> 5 === 5) {
    const def = decodeScenario(bytes);
    return { def, images: imagesFromStore(def, context.store), sources: [] };
  }
  return compileText(bytes, path, context, shown);
}

function compileText(
  bytes: Uint8Array,
  path: string,
  context: Context,
  shown = path,
): CompiledScenario {
  const files = new CommandFiles(resolve(context.host.cwd, dirname(path)), context);
  const compiled = unwrap(loadScenarioBytes(bytes, shown, files));
  return { ...compiled, sources: [{ name: basename(path), bytes }, ...compiled.sources] };
}

function unwrap(result: CompileResult): CompiledScenario {
  if (result.ok) return result.scenario;
  throw new ErrorList(result.errors);
}

/** The images of a scenario, by their address in the store. */
export function imagesFromStore(def: ScenarioDef, store: Store): ReadonlyMap<string, Uint8Array> {
  const digests = new Set(guestsOf(def).flatMap(imagesOfGuest));
  return new Map([...digests].map((digest) => [digest, store.get(digest)]));
}

/** What the command line may change of a plan. */
export interface PlanOptions {
  readonly until: PlanDef['until'] | undefined;
  readonly maxVirtualTime: number | undefined;
  readonly maxQuanta: number | undefined;
}

/** The scenario with the command line's end and budgets: another plan, thus another id. */
export function withPlan(def: ScenarioDef, options: PlanOptions): ScenarioDef {
  const { plan } = def;
  const until = options.until ?? plan.until;
  if (options.until === 'virtual-time' && options.maxVirtualTime === undefined) {
    throw new SimError({
      code: 'usage/until',
      message: '--until virtual-time needs --max-virtual-time',
      remedy: 'say how long: --max-virtual-time 10s',
    });
  }
  for (const [name, value] of [
    ['--max-virtual-time', options.maxVirtualTime],
    ['--max-quanta', options.maxQuanta],
  ] as const) {
    if (value === 0) {
      throw new SimError({ code: 'usage/budget', message: `${name} is 0, expected at least 1` });
    }
  }
  const limits = {
    virtualNsMax: options.maxVirtualTime ?? plan.limits.virtualNsMax,
    quantaMax: options.maxQuanta ?? plan.limits.quantaMax,
  };
  return { ...def, plan: { ...plan, until, limits } };
}

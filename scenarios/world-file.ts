import {
  decodeUtf8,
  isUtf8,
  SimError,
  type FaultProfile,
  type RecordWorldDef,
} from '../sim/index.ts';
import type { ScenarioFiles } from './compile.ts';
import { readHandlerModule, type HandlerModule } from './handler-modules.ts';
import { schemaIssues, toErrors, type Issue, type Source } from './issues.ts';
import type { PlainTable } from './toml.ts';
import { WorldFileCompiler, type WorldIssue } from './world-file-compile.ts';
import { faultProfileSchema, worldFileSchema } from './world-file-schema.ts';
import { parseYaml } from './world-file-yaml.ts';

/** A world file that was read, with the code of its handlers. */
export interface LoadedWorld {
  readonly def: RecordWorldDef;
  readonly modules: readonly HandlerModule[];
}

export type WorldFileResult =
  | { readonly ok: true; readonly world: LoadedWorld }
  | { readonly ok: false; readonly errors: readonly SimError[] };

export type FaultFileResult =
  | { readonly ok: true; readonly faults: FaultProfile }
  | { readonly ok: false; readonly errors: readonly SimError[] };

/** What is done where the schema found something; see docs/record-worlds.md. */
const SCHEMA_REMEDY = 'see docs/record-worlds.md for the keys of a world file';

/**
 * Reads a world file (YAML). `file` is how places call it; `files` gives the modules of handlers.
 * `registered` are handlers that the caller has himself. Never throws for bad input: each error
 * has its file, line, column and remedy.
 */
export function loadWorldFile(
  bytes: Uint8Array,
  file: string,
  files: ScenarioFiles,
  registered: ReadonlySet<string> = new Set(),
): WorldFileResult {
  try {
    const { value, source } = open(bytes, file);
    const parsed = worldFileSchema.safeParse(value);
    if (!parsed.success) return refuse(schemaIssues(parsed.error, value), source);
    const compiler = new WorldFileCompiler(parsed.data);
    const def = compiler.compile();
    if (compiler.issues.length > 0) return refuse(compiler.issues, source);
    const { modules, issues } = handlersOf(def, files, registered);
    if (issues.length > 0) return refuse(issues, source);
    return { ok: true, world: { def, modules } };
  } catch (error) {
    if (error instanceof SimError) return { ok: false, errors: [error] };
    throw error;
  }
}

/** Reads a fault profile of its own (YAML) for a world. Never throws for bad input. */
export function loadFaultFile(
  bytes: Uint8Array,
  file: string,
  def: RecordWorldDef,
): FaultFileResult {
  try {
    const { value, source } = open(bytes, file);
    const parsed = faultProfileSchema.safeParse(value);
    if (!parsed.success) return refuse(schemaIssues(parsed.error, value), source);
    const compiler = new WorldFileCompiler({ name: def.name, seed: 0, services: {} });
    const faults = compiler.profile(parsed.data, def, []);
    if (compiler.issues.length > 0) return refuse(compiler.issues, source);
    return { ok: true, faults };
  } catch (error) {
    if (error instanceof SimError) return { ok: false, errors: [error] };
    throw error;
  }
}

function open(bytes: Uint8Array, file: string): { value: PlainTable; source: Source } {
  if (!isUtf8(bytes)) {
    const message = 'the file is not UTF-8 text';
    throw new SimError({ code: 'scenario/yaml', message, place: file, remedy: 'save it as UTF-8' });
  }
  const { value, locate } = parseYaml(decodeUtf8(bytes), file);
  return { value, source: { file, locate } };
}

function handlersOf(
  { operations }: RecordWorldDef,
  files: ScenarioFiles,
  registered: ReadonlySet<string>,
): { readonly modules: readonly HandlerModule[]; readonly issues: readonly WorldIssue[] } {
  const modules = new Map<string, HandlerModule>();
  const issues: WorldIssue[] = [];
  for (const { service, name, handler } of operations) {
    if (handler === '' || registered.has(handler)) continue;
    const [module = ''] = handler.split('.');
    if (modules.has(module)) continue;
    const read = readHandlerModule(module, files);
    if (read !== null) modules.set(module, read);
    else {
      issues.push({
        code: 'scenario/handler',
        path: ['services', service, 'operations', name, 'handler'],
        message: `there is no module "${module}" for the handler "${handler}"`,
        remedy: `put ${module}.ts, .mjs, .js or .wasm beside the world file`,
      });
    }
  }
  return { modules: [...modules.values()], issues };
}

function refuse(
  issues: readonly (Issue | WorldIssue)[],
  source: Source,
): { readonly ok: false; readonly errors: readonly SimError[] } {
  const remedies = new Map(
    issues.map((each) => [each.message, 'remedy' in each ? each.remedy : SCHEMA_REMEDY]),
  );
  const errors = toErrors(issues, source).map(({ code, message, place }) => {
    const at = place === undefined ? {} : { place };
    return new SimError({ code, message, ...at, remedy: remedies.get(message) ?? SCHEMA_REMEDY });
  });
  return { ok: false, errors };
}

import {
  Refusal,
  SimError,
  type HandlerTable,
  type RecordHandler,
  type RecordWorldDef,
  type RefusalKind,
  type Table,
} from '../../sim/index.ts';
import type { HandlerModule } from '../../scenarios/index.ts';
import { HandlerModule as WasmHandlers } from '../../wasm/index.ts';
import { Realm, type RealmReply } from './realm.ts';

/**
 * Makes the handlers of a world's modules: they run without host access. Throws
 * `scenario/handler` where a module lacks a function that the world names.
 */
export function makeHandlers(
  def: Pick<RecordWorldDef, 'operations' | 'records'>,
  modules: readonly HandlerModule[],
): HandlerTable {
  const handlers = new Map<string, RecordHandler>();
  if (modules.length === 0) return handlers;
  const realm = new Realm(modules.filter(({ kind }) => kind === 'script'));
  const compiled = new Map(
    modules
      .filter(({ kind }) => kind === 'wasm')
      .map(({ name, bytes }) => [name, new WasmHandlers(name, bytes)]),
  );
  const tables = def.records.map(({ name }) => name);
  for (const { name: operation, handler } of def.operations) {
    const [module = '', name = ''] = handler.split('.');
    if (!modules.some((each) => each.name === module) || handlers.has(handler)) continue;
    const wasm = compiled.get(module);
    if (!(wasm?.functions ?? realm.exportsOf(module)).includes(name)) {
      throw new SimError({
        code: 'scenario/handler',
        message: `the module "${module}" exports no function "${name}"`,
        place: `operation ${operation}`,
        remedy:
          wasm === undefined
            ? `export it: export function ${name}(world, clock, args, draws) { … }`
            : `export it, a function without arguments: ATHANOR_HANDLER(${name}) { … }`,
      });
    }
    const made =
      wasm === undefined
        ? scriptHandler(realm, { module, name, tables })
        : wasmHandler(wasm, handler, name);
    handlers.set(handler, made);
  }
  return handlers;
}

function scriptHandler(
  realm: Realm,
  of: { readonly module: string; readonly name: string; readonly tables: readonly string[] },
): RecordHandler {
  return (world, clock, args, draws) => {
    const input = { ...of, nowNs: clock.nowNs, now: clock.now(), args };
    const reply = realm.handle(input, (request) => replyTo(world, draws, request));
    switch (reply.kind) {
      case 'value':
        return reply.value;
      case 'refusal':
        throw new Refusal(reply.message, reply.refusal as RefusalKind);
      case 'crash':
        throw new Error(reply.message);
    }
  };
}

/** The same for a compiled handler: questions and answers are the same texts. */
function wasmHandler(module: WasmHandlers, label: string, name: string): RecordHandler {
  return (world, clock, args, draws) => {
    const input = JSON.stringify({ args, now: clock.now(), now_ns: clock.nowNs });
    const reply = module.call(name, input, (question) => {
      return JSON.stringify(replyTo(world, draws, parsed(question, `${label} asks`)));
    });
    switch (reply.kind) {
      case 'value':
        return parsed(reply.text, `${label} replies`);
      case 'refusal':
        throw new Refusal(reply.message);
      case 'crash':
        throw new Error(`${label}: ${reply.message}`);
    }
  };
}

function parsed(text: string, what: string): Request {
  try {
    return JSON.parse(text) as Request;
  } catch {
    throw new Error(`${what} in a text that is no JSON: ${text.slice(0, 60)}`);
  }
}

type Request = Readonly<Record<string, unknown>>;

/** Answers what a handler asks; refusals are answers, too. */
function replyTo(
  world: Parameters<RecordHandler>[0],
  draws: Parameters<RecordHandler>[3],
  request: Request,
): RealmReply {
  try {
    return { kind: 'value', value: answer(world, draws, request) ?? null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { kind: 'refusal', refusal: error.kind, message: error.message };
  }
}

function answer(
  world: Parameters<RecordHandler>[0],
  draws: Parameters<RecordHandler>[3],
  request: Request,
): unknown {
  switch (request['do']) {
    case 'revision':
      return world.revision;
    case 'snapshot':
      return world.snapshot();
    case 'diff':
      return world.diff(request['old'] as Parameters<typeof world.diff>[0]);
    case 'below':
      return draws.below(request['arity'] as number);
    default:
      return answerTable(
        (world as Readonly<Record<string, Table>>)[String(request['table'])],
        request,
      );
  }
}

function answerTable(table: Table | undefined, request: Request): unknown {
  if (table === undefined) throw new TypeError('there is no such record');
  const values = (request['values'] ?? {}) as Readonly<Record<string, unknown>>;
  const { id } = request;
  switch (request['do']) {
    case 'get':
      return table.get(id);
    case 'all':
      return table.all();
    case 'where':
      return table.where(values);
    case 'pick':
      return table.pick(values);
    case 'insert':
      return table.insert(values);
    case 'update':
      return table.update(id, values);
    case 'delete':
      return table.delete(id);
    default:
      throw new TypeError('there is no such request');
  }
}

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
  const realm = new Realm(modules);
  const tables = def.records.map(({ name }) => name);
  for (const { name: operation, handler } of def.operations) {
    const [module = '', name = ''] = handler.split('.');
    if (!modules.some((each) => each.name === module) || handlers.has(handler)) continue;
    if (!realm.exportsOf(module).includes(name)) {
      throw new SimError({
        code: 'scenario/handler',
        message: `the module "${module}" exports no function "${name}"`,
        place: `operation ${operation}`,
        remedy: `export it: export function ${name}(world, clock, args, draws) { … }`,
      });
    }
    handlers.set(handler, scriptHandler(realm, { module, name, tables }));
  }
  return handlers;
}

function scriptHandler(
  realm: Realm,
  of: { readonly module: string; readonly name: string; readonly tables: readonly string[] },
): RecordHandler {
  return (world, clock, args, draws) => {
    const reply = realm.handle(
      { ...of, nowNs: clock.nowNs, now: clock.now(), args },
      (request): RealmReply => {
        try {
          return { kind: 'value', value: answer(world, draws, request) };
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          return { kind: 'refusal', refusal: error.kind, message: error.message };
        }
      },
    );
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

type Request = Readonly<Record<string, unknown>>;

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

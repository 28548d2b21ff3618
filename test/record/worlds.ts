import { join } from 'node:path';
import { makeHandlers } from '../../cli/record/handlers.ts';
import { loadWorldFile, LocalFiles, packageRoot, type LoadedWorld } from '../../scenarios/index.ts';
import {
  Decisions,
  FakeClock,
  RecordService,
  RecordTrace,
  type CallOutcome,
  type FaultProfile,
  type HandlerTable,
  type RecordWorldDef,
} from '../../sim/index.ts';

/** A world that comes with the simulator. */
export function builtinWorld(name: string): LoadedWorld {
  const files = new LocalFiles(join(packageRoot(), 'scenarios', 'worlds'));
  const result = loadWorldFile(files.read(`${name}.yaml`), `${name}.yaml`, files);
  if (!result.ok) throw result.errors[0] as Error;
  return result.world;
}

/** A world of a text that must be right; custom operations are registered by the test. */
export function worldOf(text: string, handlers: HandlerTable = new Map()): RecordWorldDef {
  const result = loadText(text, handlers);
  if (!result.ok) throw result.errors[0] as Error;
  return result.world.def;
}

export function loadText(text: string, handlers: HandlerTable = new Map()) {
  const files = new LocalFiles('/nonexistent');
  return loadWorldFile(Buffer.from(text), 'w.yaml', files, new Set(handlers.keys()));
}

export interface Bench {
  readonly service: RecordService;
  readonly clock: FakeClock;
  readonly trace: RecordTrace;
  readonly decisions: Decisions;
  call(operation: string, args?: Readonly<Record<string, unknown>>): CallOutcome;
}

/** A service by itself, with a clock that only calls and the test move. */
export function serviceOf(
  def: RecordWorldDef,
  options: {
    readonly faults?: FaultProfile | null;
    readonly handlers?: HandlerTable;
    readonly seed?: number;
    readonly runIndex?: number;
  } = {},
): Bench {
  const clock = new FakeClock();
  const trace = new RecordTrace();
  const decisions = new Decisions(options.seed ?? 1, () => undefined);
  const service = new RecordService({
    def,
    handlers: options.handlers ?? new Map(),
    faults: options.faults ?? null,
    decisions,
    scope: 'record/test',
    runIndex: options.runIndex ?? 0,
    onCall: (event) => {
      trace.add(event);
    },
  });
  return {
    service,
    clock,
    trace,
    decisions,
    call: (operation, args = {}) => service.call(operation, args, clock).outcome,
  };
}

/** A built-in world as a service, its handlers in their realm. */
export function builtinService(name: string, options: Parameters<typeof serviceOf>[1] = {}): Bench {
  const { def, modules } = builtinWorld(name);
  return serviceOf(def, { handlers: makeHandlers(def, modules), ...options });
}

export const SMALL_WORLD = `
name: small
seed: 5
services:
  desk:
    records:
      people:
        name: str
        age: int
        score: float
        is_active: bool
      tickets:
        person: ref[desk.people]
        state: enum[open, closed]
        opened_at: datetime
    operations:
      get_ticket: { kind: get, record: tickets }
      list_tickets: { kind: list, record: tickets, filters: [state] }
      create_ticket: { kind: create, record: tickets }
      update_ticket: { kind: update, record: tickets }
      delete_ticket: { kind: delete, record: tickets }
    seed:
      count: { people: 3, tickets: 10 }
`;

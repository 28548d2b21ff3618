import type { RecordClock } from './record-clock.ts';
import type { Snapshot, WorldDiff } from './record-world.ts';
import type { Table } from './table.ts';

/** What a handler sees of its world: each record's table by its name, and the whole. */
export type WorldView = {
  readonly revision: number;
  snapshot(): Snapshot;
  diff(old: Snapshot): WorldDiff;
} & Readonly<Record<string, Table>>;

/** Time as a handler sees it. */
export interface HandlerClock extends RecordClock {
  /** `2026-01-01T00:00:00Z`. */
  now(): string;
}

/** What a handler may draw: decisions of its own stream, asked at the moment of use. */
export interface HandlerDraws {
  /** One of 0 to `arity` - 1. */
  below(arity: number): number;
}

export type HandlerArgs = Readonly<Record<string, unknown>>;

/**
 * The logic of a custom operation. It sees nothing but what it is given (FH-15). What it returns
 * is the result, as JSON has it; to refuse it throws a Refusal; anything else thrown is a crash.
 */
export type RecordHandler = (
  world: WorldView,
  clock: HandlerClock,
  args: HandlerArgs,
  draws: HandlerDraws,
) => unknown;

/** Handlers by `module.function`. */
export type HandlerTable = ReadonlyMap<string, RecordHandler>;

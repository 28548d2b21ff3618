import { assert } from '../kernel/assert.ts';
import { decodeUtf8, encodeUtf8 } from '../kernel/utf8.ts';
import { RollingDigest } from '../kernel/rolling-digest.ts';
import { seededRows } from './seeding.ts';
import { Table, type TableState } from './table.ts';
import type { Row } from './value.ts';
import type { RecordWorldDef } from './world-def.ts';

/** All rows by record, as they were. */
export type Snapshot = Readonly<Record<string, readonly Row[]>>;

export interface RecordChange {
  readonly id: number;
  readonly before: Row;
  readonly after: Row;
}

/** What differs in one record. */
export interface RecordDiff {
  readonly added: readonly Row[];
  readonly removed: readonly Row[];
  readonly changed: readonly RecordChange[];
}

/** Records that differ, by name. */
export type WorldDiff = Readonly<Record<string, RecordDiff>>;

/** The tables of a record world, and how often operations have written to them. */
export class RecordWorld {
  readonly def: RecordWorldDef;
  /** Each record's table by its name. */
  readonly tables: Readonly<Record<string, Table>>;
  private writes = 0;
  /** How to take back what the present operation has written, while one runs. */
  private undo: (() => void)[] | null = null;

  /** A world as its file and seed have it: revision 0. */
  constructor(def: RecordWorldDef) {
    this.def = def;
    const host = {
      hasRow: (record: string, id: number) => this.tables[record]?.has(id) ?? false,
      mayUndo: () => this.undo !== null,
      wrote: (undo: () => void) => {
        this.writes++;
        this.undo?.push(undo);
      },
    };
    this.tables = Object.fromEntries(def.records.map((each) => [each.name, new Table(each, host)]));
    for (const [name, rows] of seededRows(def)) {
      this.table(name).restore({ nextId: rows.length + 1, rows });
    }
  }

  get name(): string {
    return this.def.name;
  }

  /** Counts every write by an operation; seeding is none. */
  get revision(): number {
    return this.writes;
  }

  /** The table of a record that exists. */
  table(record: string): Table {
    const table = this.tables[record];
    assert(table !== undefined, 'the record is one of the world');
    return table;
  }

  snapshot(): Snapshot {
    return Object.fromEntries(this.def.records.map(({ name }) => [name, this.table(name).all()]));
  }

  /** What was added, removed and changed since a snapshot; records without a change are absent. */
  diff(old: Snapshot): WorldDiff {
    const parts = this.def.records.map(({ name }) => {
      return [name, diffRows(old[name] ?? [], this.table(name).all())] as const;
    });
    return Object.fromEntries(
      parts.filter(([, { added, removed, changed }]) => {
        return added.length + removed.length + changed.length > 0;
      }),
    );
  }

  /** Runs an operation that writes all or nothing: what throws has written nothing. */
  whole<Result>(operation: () => Result): Result {
    assert(this.undo === null, 'one operation runs at a time');
    const { writes } = this;
    const undo: (() => void)[] = [];
    this.undo = undo;
    try {
      return operation();
    } catch (error) {
      for (const step of undo.reverse()) step();
      this.writes = writes;
      throw error;
    } finally {
      this.undo = null;
    }
  }

  /** The whole state as UTF-8 text of JSON. */
  capture(): Uint8Array {
    const tables = this.def.records.map(({ name }) => this.table(name).capture());
    return encodeUtf8(JSON.stringify({ revision: this.writes, tables }));
  }

  restore(bytes: Uint8Array): void {
    const state = JSON.parse(decodeUtf8(bytes)) as WorldState;
    this.def.records.forEach(({ name }, index) => {
      const table = state.tables[index];
      assert(table !== undefined, 'a saved world has all tables');
      this.table(name).restore(table);
    });
    this.writes = state.revision;
  }

  /** A digest of the whole state as 16 hexadecimal digits. */
  digest(): string {
    const digest = new RollingDigest();
    digest.update(this.capture());
    return digest.hex();
  }
}

interface WorldState {
  readonly revision: number;
  readonly tables: readonly TableState[];
}

function diffRows(old: readonly Row[], now: readonly Row[]): RecordDiff {
  const before = new Map(old.map((row) => [row.id, row]));
  const after = new Set(now.map(({ id }) => id));
  const changed = now.flatMap((row): RecordChange[] => {
    const was = before.get(row.id);
    if (was === undefined || was === row || JSON.stringify(was) === JSON.stringify(row)) return [];
    return [{ id: row.id, before: was, after: row }];
  });
  return {
    added: now.filter(({ id }) => !before.has(id)),
    removed: old.filter(({ id }) => !after.has(id)),
    changed,
  };
}

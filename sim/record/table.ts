import { Refusal } from './refusal.ts';
import { checkValue, type FieldValue, type Row } from './value.ts';
import { ROWS_MAX, type FieldDef, type RecordDef } from './world-def.ts';

/** Values by field; what is not named keeps its value, or is null. */
export type FieldValues = Readonly<Record<string, unknown>>;

/** What a table asks of the world around it. */
export interface TableHost {
  hasRow(record: string, id: number): boolean;
  /** Whether what is written now may be taken back. */
  mayUndo(): boolean;
  /** Something was written; `undo` takes it back, as long as nothing else was written since. */
  wrote(undo: () => void): void;
}

/** The rows of one record, in the order in which they were inserted. Rows are frozen. */
export class Table {
  readonly name: string;
  readonly fields: readonly FieldDef[];
  private readonly byName: ReadonlyMap<string, FieldDef>;
  private readonly host: TableHost;
  private rows = new Map<number, Row>();
  private nextId = 1;

  constructor(def: RecordDef, host: TableHost) {
    this.name = def.name;
    this.fields = def.fields;
    this.byName = new Map(def.fields.map((field) => [field.name, field]));
    this.host = host;
  }

  get count(): number {
    return this.rows.size;
  }

  has(id: number): boolean {
    return this.rows.has(id);
  }

  /** The row of that id; a Refusal (`not_found`) if there is none. */
  get(id: unknown): Row {
    const row = typeof id === 'number' ? this.rows.get(id) : undefined;
    if (row !== undefined) return row;
    throw new Refusal(`there is no ${this.name} with id ${shown(id)}`, 'not_found');
  }

  all(): readonly Row[] {
    return [...this.rows.values()];
  }

  /** The rows that have all these values, in the order of insertion. */
  where(values: FieldValues): readonly Row[] {
    const wanted = this.wanted(values);
    return this.all().filter((row) => matches(row, wanted));
  }

  /** The first such row, or null. */
  pick(values: FieldValues): Row | null {
    const wanted = this.wanted(values);
    for (const row of this.rows.values()) if (matches(row, wanted)) return row;
    return null;
  }

  /** A new row; its id is the next one unless `id` names one that is free. */
  insert(values: FieldValues): Row {
    if (this.rows.size >= ROWS_MAX) throw new Refusal(`${this.name} is full`, 'refused');
    const { id: given, ...rest } = values;
    const id = given === undefined || given === null ? this.nextId : given;
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) {
      throw new Refusal('id: expected a whole number from 1', 'invalid');
    }
    if (this.rows.has(id)) throw new Refusal(`${this.name} ${id} exists already`, 'invalid');
    const checked = this.checked(rest);
    const row: Record<string, FieldValue> & { id: number } = { id };
    for (const { name } of this.fields) row[name] = checked.get(name) ?? null;
    return this.store(row);
  }

  /** Changes the named fields of a row; gives the new row. */
  update(id: unknown, values: FieldValues): Row {
    const before = this.get(id);
    const { id: given, ...rest } = values;
    if (given !== undefined && given !== before.id) throw new Refusal('an id stays', 'invalid');
    const row = { ...before };
    for (const [name, value] of this.checked(rest)) Object.assign(row, { [name]: value });
    return this.store(row);
  }

  /** Takes a row out; gives what it was. References to it stay as they are. */
  delete(id: unknown): Row {
    const row = this.get(id);
    // Whoever may take it back needs the row at its old place in the order.
    const before = this.host.mayUndo() ? new Map(this.rows) : this.rows;
    this.rows.delete(row.id);
    this.host.wrote(() => {
      this.rows = before;
    });
    return row;
  }

  /** All rows and the next id, as plain data that JSON can hold. */
  capture(): TableState {
    return { nextId: this.nextId, rows: this.all() };
  }

  restore({ nextId, rows }: TableState): void {
    this.nextId = nextId;
    this.rows = new Map(rows.map((row) => [row.id, Object.freeze({ ...row })]));
  }

  private store(row: Row): Row {
    const frozen = Object.freeze(row);
    const { nextId } = this;
    const before = this.rows.get(row.id);
    this.rows.set(row.id, frozen);
    this.nextId = Math.max(nextId, row.id + 1);
    this.host.wrote(() => {
      if (before === undefined) this.rows.delete(row.id);
      else this.rows.set(row.id, before);
      this.nextId = nextId;
    });
    return frozen;
  }

  private checked(values: FieldValues): Map<string, FieldValue> {
    const checked = new Map<string, FieldValue>();
    for (const [name, value] of Object.entries(values)) {
      const { type } = this.field(name);
      const hasRow = (record: string, id: number): boolean => this.host.hasRow(record, id);
      checked.set(name, checkValue(type, value, name, hasRow));
    }
    return checked;
  }

  private wanted(values: FieldValues): readonly (readonly [string, unknown])[] {
    const wanted = Object.entries(values);
    for (const [name] of wanted) if (name !== 'id') this.field(name);
    return wanted;
  }

  private field(name: string): FieldDef {
    const field = this.byName.get(name);
    if (field !== undefined) return field;
    const known = this.fields.map((each) => each.name).join(', ');
    throw new Refusal(`${this.name} has no field "${name}"; it has ${known}`, 'invalid');
  }
}

export interface TableState {
  readonly nextId: number;
  readonly rows: readonly Row[];
}

function matches(row: Row, wanted: readonly (readonly [string, unknown])[]): boolean {
  return wanted.every(([name, value]) => row[name] === value);
}

function shown(id: unknown): string {
  const text = JSON.stringify(id) ?? 'of nothing';
  // A client may ask for anything, however long; the answer need not say it all again.
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

import type { Body } from '../binary/body.ts';
import { OP } from '../binary/opcodes.ts';

/** A place in a sequence where a rewinding frame can enter: a site, or a block that holds sites. */
export interface Stop {
  /** First and last site number behind it. */
  readonly lo: number;
  readonly hi: number;
}

const NONE: readonly Stop[] = [];

/**
 * The sites of one function, numbered from 1 in order of code, and the stops of each sequence. A
 * sequence is the function's own (key -1), a block's (key: its opener) or a clause's (key: `else`).
 */
export class Sites {
  /** How many of the sites are at memory.grow. */
  readonly growthCount: number;
  /** Instruction of each site; entry 0 is unused. The entry check has instruction -1. */
  readonly instructions: number[] = [-2];
  private readonly ids: Int32Array;
  private readonly stops = new Map<number, Stop[]>();
  private readonly ranges = new Map<number, Stop>();
  /** Sites by the number in their frames' headers: those at memory.grow come last. */
  private readonly byName: number[] = [];
  private readonly names: number[] = [];
  /** Of openers: height of the operands below the block's own. */
  readonly bases: Int32Array;

  constructor(body: Body, isSite: (index: number) => boolean, entry: boolean) {
    this.ids = new Int32Array(body.count);
    this.bases = new Int32Array(body.count);
    const open: { key: number; first: number; opener: number }[] = [
      { key: -1, first: 1, opener: -1 },
    ];
    if (entry) this.add(-1, -1);
    for (let index = 0; index < body.count; index += 1) {
      const op = body.op[index];
      const top = open[open.length - 1];
      if (op === OP.block || op === OP.loop || op === OP.if || op === OP.tryTable) {
        const own = body.blockType(index).params.length + (op === OP.if ? 1 : 0);
        this.bases[index] = body.height[index] - own;
        open.push({ key: index, first: this.instructions.length, opener: index });
        if (op === OP.loop && isSite(index)) this.add(index, index);
      } else if (op === OP.else) {
        this.closeSequence(top.key, top.first);
        top.key = index;
        top.first = this.instructions.length;
      } else if (op === OP.end) {
        open.pop();
        const parent = open[open.length - 1];
        this.closeSequence(top.key, top.first);
        if (parent) this.closeBlock(body, top.opener, parent.key);
      } else if (
        (op === OP.call ||
          op === OP.callIndirect ||
          op === OP.returnCall ||
          op === OP.memoryGrow) &&
        isSite(index)
      ) {
        this.add(top.key, index);
      }
    }
    const grows = (id: number): boolean => body.op[this.instructions[id]] === OP.memoryGrow;
    const ids = this.instructions.map((_, id) => id).slice(1);
    this.byName = [0, ...ids.filter((id) => !grows(id)), ...ids.filter(grows)];
    this.byName.forEach((id, name) => (this.names[id] = name));
    this.growthCount = ids.filter(grows).length;
  }

  /**
   * The number in the header of a site's frame. Images hold it, so that it must not depend on whether
   * memory.grow is a site, too.
   */
  name(id: number): number {
    return this.names[id];
  }

  /** The sites whose number and name differ: `[name, id]`. */
  renamed(): readonly (readonly [number, number])[] {
    return this.byName.flatMap((id, name) => (id === name ? [] : [[name, id] as const]));
  }

  get count(): number {
    return this.instructions.length - 1;
  }

  /** The site number of an instruction (-1: of the entry check), 0 when it is none. */
  id(index: number): number {
    if (index < 0) return this.instructions[1] === -1 ? 1 : 0;
    return this.ids[index];
  }

  stopsOf(key: number): readonly Stop[] {
    return this.stops.get(key) ?? NONE;
  }

  /** Sites in a sequence, or null. */
  range(key: number): Stop | null {
    return this.ranges.get(key) ?? null;
  }

  /** Whether a block (with all its clauses) holds sites. */
  inBlock(body: Body, opener: number): boolean {
    if (this.ranges.has(opener)) return true;
    const next = body.peer[opener];
    return body.op[next] === OP.else && this.ranges.has(next);
  }

  /** Instruction of the first site in a block that holds some. */
  firstIn(body: Body, opener: number): number {
    const range = this.range(opener) ?? this.range(body.peer[opener]);
    return this.instructions[range?.lo ?? 0];
  }

  private add(key: number, index: number): void {
    const id = this.instructions.length;
    this.instructions.push(index);
    if (index >= 0) this.ids[index] = id;
    this.push(key, { lo: id, hi: id });
  }

  private push(key: number, stop: Stop): void {
    const list = this.stops.get(key);
    if (list) list.push(stop);
    else this.stops.set(key, [stop]);
  }

  private closeSequence(key: number, first: number): void {
    const last = this.instructions.length - 1;
    if (last >= first) this.ranges.set(key, { lo: first, hi: last });
  }

  private closeBlock(body: Body, opener: number, parentKey: number): void {
    const next = body.peer[opener];
    const second = body.op[next] === OP.else ? this.range(next) : null;
    const first = this.range(opener) ?? second;
    if (first === null) return;
    this.push(parentKey, { lo: first.lo, hi: (second ?? first).hi });
  }
}

import type { VirtualNs } from '../kernel/units.ts';
import { partsOf, type PredicateDef } from '../plan/predicates.ts';

/** What is remembered of one part of a predicate, as plain data. */
export interface PartState {
  /** Of a list of nodes, how many are so; else 1 where it is so, or once was. */
  on: number;
  /** `timer`: when it rings, or -1; and whether `arm` was true at the last moment. */
  dueNs: VirtualNs;
  armed: boolean;
  /** `timer`: whether a wake stands in the queue. It comes when the timer rings, or before. */
  queued: boolean;
}

/** A part of a predicate: parts stand in one list, each behind the parts below it. */
export interface Part {
  readonly def: PredicateDef;
  /** The predicate that it belongs to: a place in the list of roots. */
  readonly root: number;
  /** Places of the parts right below. */
  readonly below: readonly number[];
  readonly state: PartState;
}

/** All parts of all predicates, flat: whoever knows a part's place can change it at once. */
export class PredicateParts {
  readonly parts: Part[] = [];
  /** The place of each predicate's top part. */
  readonly roots: number[] = [];
  /** Asks for the part to ring at that time. */
  private readonly wake: (atNs: VirtualNs, part: number) => void;

  constructor(wake: (atNs: VirtualNs, part: number) => void) {
    this.wake = wake;
  }

  /** Adds a predicate; gives its place among the roots. */
  add(def: PredicateDef): number {
    const root = this.roots.length;
    this.roots.push(this.addPart(def, root));
    return root;
  }

  /** Whether a predicate is true at this moment. Every part takes note, so all are looked at. */
  evaluate(root: number, atNs: VirtualNs): boolean {
    return this.isTrue(this.roots[root] as number, atNs);
  }

  state(part: number): PartState {
    return (this.parts[part] as Part).state;
  }

  /** A timer's wake has come; says whether it rings now. */
  rings(place: number, atNs: VirtualNs): boolean {
    const state = this.state(place);
    state.queued = false;
    if (state.dueNs > atNs) this.queue(place, state.dueNs);
    if (state.dueNs !== atNs) return false;
    state.dueNs = -1;
    return true;
  }

  capture(): readonly PartState[] {
    return this.parts.map(({ state }) => ({ ...state }));
  }

  restore(states: readonly PartState[]): void {
    this.parts.forEach(({ state }, place) => Object.assign(state, states[place]));
  }

  private addPart(def: PredicateDef, root: number): number {
    const below = partsOf(def).map((part) => this.addPart(part, root));
    this.parts.push({ def, root, below, state: { on: 0, dueNs: -1, armed: false, queued: false } });
    return this.parts.length - 1;
  }

  private isTrue(place: number, atNs: VirtualNs): boolean {
    const { def, below, state } = this.parts[place] as Part;
    switch (def.kind) {
      case 'not':
        return !this.isTrue(below[0] as number, atNs);
      case 'once':
        if (this.isTrue(below[0] as number, atNs)) state.on = 1;
        return state.on > 0;
      case 'all_of':
        return this.count(below, atNs) === below.length;
      case 'any_of':
        return this.count(below, atNs) > 0;
      case 'timer':
        this.keepTime(place, atNs);
        return state.on > 0;
      default:
        return state.on > 0;
    }
  }

  private count(places: readonly number[], atNs: VirtualNs): number {
    let count = 0;
    for (const place of places) if (this.isTrue(place, atNs)) count++;
    return count;
  }

  /** Arms a timer each time its cause comes true, and disarms it while `cancel` is so. */
  private keepTime(place: number, atNs: VirtualNs): void {
    const { def, below, state } = this.parts[place] as Part;
    if (def.kind !== 'timer') return;
    const arms = this.isTrue(below[0] as number, atNs);
    const cancels = below.length > 1 && this.isTrue(below[1] as number, atNs);
    if (cancels) state.dueNs = -1;
    else if (arms && !state.armed) {
      state.dueNs = atNs + def.afterNs;
      if (!state.queued) this.queue(place, state.dueNs);
    }
    state.armed = arms;
  }

  private queue(place: number, atNs: VirtualNs): void {
    this.state(place).queued = true;
    this.wake(atNs, place);
  }
}

import { decodeUtf8 } from '../kernel/utf8.ts';
import { formatTime, type VirtualNs } from '../kernel/units.ts';
import type { AssertionState } from '../plan/predicates.ts';
import {
  parseForeignLine,
  parseMarker,
  type AssertionKind,
  type AssertionLine,
} from './assertion-line.ts';

/** A run has at most this many different assertions; with more a result says so. */
export const ASSERTIONS_MAX = 4_000;

const DETAILS_LENGTH_MAX = 400;

export interface AssertionResult {
  readonly name: string;
  readonly kind: AssertionKind | 'markers';
  readonly verdict: 'pass' | 'fail' | 'inconclusive';
  readonly detail: string;
  readonly atNs: VirtualNs | null;
}

interface Assertion {
  readonly kind: AssertionKind;
  readonly name: string;
  /** How often the program came there, and how often the condition held. */
  hitCount: number;
  trueCount: number;
  /** The first time that decided it, and what was said then. */
  decided: { readonly atNs: VirtualNs; readonly detail: string } | null;
}

export type AssertionListener = (
  node: number,
  name: string,
  state: AssertionState,
  atNs: VirtualNs,
) => void;

export interface AssertionsState {
  readonly assertions: readonly Readonly<Assertion>[];
  /** What is wrong with the first marker that makes no sense. */
  readonly fault: string | null;
  readonly overflown: boolean;
  /** How many bytes of each node's file of assertions have been read. */
  readonly fileOffsets: readonly number[];
}

/**
 * What the programs of a run assert about themselves. Each assertion is a property of its own,
 * over all nodes: `always` and `unreachable` can be violated; `sometimes`, `reachable` and `always`
 * that were never fired pass as vacuous, since one run is not all runs.
 */
export class Assertions {
  private readonly nodeNames: readonly string[];
  private readonly onState: AssertionListener;
  private assertions = new Map<string, Assertion>();
  private fault: string | null = null;
  private overflown = false;
  private fileOffsets: number[];

  /** `onState` is told once that an assertion was reached, has held or has failed. */
  constructor(nodeNames: readonly string[], onState: AssertionListener = () => undefined) {
    this.nodeNames = nodeNames;
    this.onState = onState;
    this.fileOffsets = nodeNames.map(() => 0);
  }

  /** Whether an assertion has been violated. */
  get failed(): boolean {
    for (const each of this.assertions.values()) if (isViolated(each)) return true;
    return false;
  }

  /** A console line, which may be one of the public Antithesis SDKs. */
  line(node: number, line: string, atNs: VirtualNs): void {
    const parsed = parseForeignLine(line);
    if (parsed !== null) this.take(node, parsed, atNs);
  }

  marker(node: number, text: string, atNs: VirtualNs): void {
    const parsed = parseMarker(text);
    if (parsed === null) return;
    if (typeof parsed !== 'string') return this.take(node, parsed, atNs);
    this.fault ??= `${this.nameOf(node)} at ${formatTime(atNs)}: ${parsed}`;
  }

  /** Where the reading of a node's file of assertions goes on. */
  fileOffset(node: number): number {
    return this.fileOffsets[node] ?? 0;
  }

  /** Further bytes of a node's file of assertions; an unfinished last line is left for later. */
  file(node: number, bytes: Uint8Array, atNs: VirtualNs): void {
    const end = bytes.lastIndexOf(10) + 1;
    for (const line of decodeUtf8(bytes.subarray(0, end)).split('\n')) this.line(node, line, atNs);
    this.fileOffsets[node] = this.fileOffset(node) + end;
  }

  /** The next life of the node writes its file anew. */
  lifeEnded(node: number): void {
    this.fileOffsets[node] = 0;
  }

  /** One result an assertion, in the order of their names. */
  results(): readonly AssertionResult[] {
    const results = [...this.assertions.values()].map(judge).sort(compareResults);
    const faults = [
      ...(this.fault === null ? [] : [this.fault]),
      ...(this.overflown ? [`more than ${ASSERTIONS_MAX} different assertions`] : []),
    ];
    if (faults.length === 0) return results;
    const detail = faults.join('; ');
    return [
      ...results,
      { name: 'markers', kind: 'markers', verdict: 'inconclusive', detail, atNs: null },
    ];
  }

  capture(): AssertionsState {
    return {
      assertions: [...this.assertions.values()].map((each) => ({ ...each })),
      fault: this.fault,
      overflown: this.overflown,
      fileOffsets: this.fileOffsets.slice(),
    };
  }

  restore(state: AssertionsState): void {
    this.assertions = new Map(state.assertions.map((each) => [keyOf(each), { ...each }]));
    this.fault = state.fault;
    this.overflown = state.overflown;
    this.fileOffsets = state.fileOffsets.slice();
  }

  private take(node: number, line: AssertionLine, atNs: VirtualNs): void {
    const key = keyOf(line);
    let assertion = this.assertions.get(key);
    if (assertion === undefined) {
      if (this.assertions.size >= ASSERTIONS_MAX) {
        this.overflown = true;
        return;
      }
      const { kind, name } = line;
      assertion = { kind, name, hitCount: 0, trueCount: 0, decided: null };
      this.assertions.set(key, assertion);
    }
    if (!line.hit) return;
    const { name } = line;
    if (assertion.hitCount++ === 0) this.onState(node, name, 'reached', atNs);
    if (line.condition && assertion.trueCount++ === 0) this.onState(node, name, 'held', atNs);
    if (assertion.decided !== null || !decides(line)) return;
    const details = line.details === '' ? '' : ` with ${line.details.slice(0, DETAILS_LENGTH_MAX)}`;
    assertion.decided = { atNs, detail: `${this.nameOf(node)}${details}` };
    if (isSafety(line.kind)) this.onState(node, name, 'failed', atNs);
  }

  private nameOf(node: number): string {
    return this.nodeNames[node] ?? `node ${node}`;
  }
}

function keyOf({ kind, name }: { readonly kind: AssertionKind; readonly name: string }): string {
  return `${kind} ${name}`;
}

function isSafety(kind: AssertionKind): boolean {
  return kind === 'always' || kind === 'always-or-unreached' || kind === 'unreachable';
}

/** Whether coming there so violates a safety assertion, or fulfils another one. */
function decides({ kind, condition }: AssertionLine): boolean {
  if (kind === 'unreachable') return true;
  return isSafety(kind) ? !condition : condition;
}

function isViolated({ kind, decided }: Assertion): boolean {
  return isSafety(kind) && decided !== null;
}

function judge(assertion: Assertion): AssertionResult {
  const { kind, name, hitCount, decided } = assertion;
  if (decided !== null) {
    const { atNs, detail } = decided;
    if (!isSafety(kind)) return { name, kind, verdict: 'pass', detail: `first by ${detail}`, atNs };
    const what = kind === 'unreachable' ? 'reached by' : 'does not hold for';
    return { name, kind, verdict: 'fail', detail: `${what} ${detail}`, atNs };
  }
  return { name, kind, verdict: 'pass', detail: undecidedText(kind, hitCount), atNs: null };
}

function undecidedText(kind: AssertionKind, hitCount: number): string {
  if (kind === 'unreachable') return 'never reached';
  if (kind === 'always-or-unreached' && hitCount === 0) return 'never reached';
  if (hitCount === 0) return 'vacuous: never reached in this run';
  if (kind === 'sometimes') return `vacuous: reached ${hitCount} times, never true in this run`;
  return `held ${hitCount} times`;
}

function compareResults(a: AssertionResult, b: AssertionResult): number {
  const [left, right] = [`${a.name} ${a.kind}`, `${b.name} ${b.kind}`];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

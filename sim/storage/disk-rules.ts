import type { Decisions } from '../kernel/decision.ts';
import type { Stream } from '../kernel/stream.ts';
import { NS_PER_S, type Millionths, type VirtualNs } from '../kernel/units.ts';
import {
  DISK_BYTE_MAX,
  DISK_RATES,
  QUIET_RULE,
  type DiskRate,
  type DiskRuleDef,
} from '../plan/disk.ts';
import type { FilePaths } from './file-paths.ts';
import type { Inode } from './inode.ts';

/** The name of the rule that a node has from the start. */
export const BASE_RULE = '';

/** How a fault is called in streams, events and messages. */
export const FAULT_NAMES: Readonly<Record<DiskRate, string>> = {
  readError: 'read-error',
  writeError: 'write-error',
  syncError: 'sync-error',
  lyingFlush: 'lying-flush',
  lostWrite: 'lost-write',
  tornWrite: 'torn-write',
  misdirectedWrite: 'misdirected-write',
  misdirectedRead: 'misdirected-read',
  bitRot: 'bit-rot',
  latentError: 'latent-error',
  stall: 'stall',
};

interface Rule {
  readonly name: string;
  readonly def: DiskRuleDef;
  readonly matches: (path: string) => boolean;
}

export interface DiskRulesOptions {
  readonly node: string;
  readonly decisions: Decisions;
  readonly paths: FilePaths;
  /** Every rule that may ever hold, by name. */
  readonly known: ReadonlyMap<string, DiskRuleDef>;
}

type Operation = 'read' | 'write' | 'sync';
const LATENCY = {
  read: 'readLatencyNs',
  write: 'writeLatencyNs',
  sync: 'syncLatencyNs',
} as const satisfies Record<Operation, keyof DiskRuleDef>;

/** The rules that hold on one disk now, and their draws. */
export class DiskRules {
  private readonly options: DiskRulesOptions;
  private active: Rule[] = [];
  private byRate = new Map<DiskRate, Rule[]>();
  private timed: Rule[] = [];
  private readonly streams = new Map<string, Stream>();

  constructor(options: DiskRulesOptions) {
    this.options = options;
    this.setActive([BASE_RULE]);
  }

  /** The names of the rules that hold, in order of their start. */
  get names(): readonly string[] {
    return this.active.map(({ name }) => name);
  }

  start(name: string): void {
    if (!this.names.includes(name)) this.setActive([...this.names, name]);
  }

  end(name: string): void {
    this.setActive(this.names.filter((each) => each !== name));
  }

  /** Ends every rule, also the one from the start. */
  lift(): void {
    this.setActive([]);
  }

  setActive(names: readonly string[]): void {
    this.active = names.map((name) => {
      const def = this.options.known.get(name) ?? QUIET_RULE;
      return { name, def, matches: pathMatcher(def.path) };
    });
    this.byRate = new Map(
      DISK_RATES.map((rate) => [rate, this.active.filter(({ def }) => def[rate] > 0)]),
    );
    this.timed = this.active.filter(({ def }) => {
      const base = def.readLatencyNs + def.writeLatencyNs + def.syncLatencyNs;
      return base + def.jitterNs > 0 || def.bytesPerSecond !== null;
    });
  }

  has(rate: DiskRate): boolean {
    return (this.byRate.get(rate) as Rule[]).length > 0;
  }

  /** The rule by which the fault strikes bytes `from` up to `to` of a file, or null. */
  strikes(
    rate: DiskRate,
    inode: Inode,
    range: readonly [number, number],
    atNs: VirtualNs,
  ): DiskRuleDef | null {
    return this.striking(rate, inode, range, atNs)?.def ?? null;
  }

  /** Whether an operation stalls: for how long (null: until the rule ends), and by which rule. */
  stalls(
    inode: Inode,
    range: readonly [number, number],
    atNs: VirtualNs,
  ): { readonly ns: VirtualNs | null; readonly rule: string } | null {
    const rule = this.striking('stall', inode, range, atNs);
    return rule === null ? null : { ns: rule.def.stallNs, rule: rule.name };
  }

  private striking(
    rate: DiskRate,
    inode: Inode,
    [from, to]: readonly [number, number],
    atNs: VirtualNs,
  ): Rule | null {
    for (const rule of this.byRate.get(rate) as Rule[]) {
      if (!this.applies(rule, inode, from, to)) continue;
      const stream = this.stream(FAULT_NAMES[rate], rule);
      if (this.options.decisions.decideChance(stream, atNs, rule.def[rate])) return rule;
    }
    return null;
  }

  /** One of 0 to `arity` - 1, for what a fault does. */
  choose(what: string, atNs: VirtualNs, arity: number): number {
    const stream = this.options.decisions.stream(`node/${this.options.node}/disk/${what}`);
    return this.options.decisions.decide(stream, atNs, arity);
  }

  /** Whether a loss of power tears the first write that it does not keep. */
  tears(chance: Millionths, atNs: VirtualNs): boolean {
    const { node, decisions } = this.options;
    return decisions.decideChance(decisions.stream(`node/${node}/disk/crash/tear`), atNs, chance);
  }

  /** What an operation of so many bytes takes on top of its usual time, stalls apart. */
  delayNs(
    operation: Operation,
    inode: Inode,
    [from, to]: readonly [number, number],
    bytes: number,
    atNs: VirtualNs,
  ): VirtualNs {
    let ns = 0;
    for (const rule of this.timed) {
      if (!this.applies(rule, inode, from, to)) continue;
      const { def } = rule;
      ns += def[LATENCY[operation]];
      if (def.bytesPerSecond !== null) ns += transferNs(bytes, def.bytesPerSecond);
      if (def.jitterNs > 0) {
        const stream = this.stream('jitter', rule);
        ns += this.options.decisions.decide(stream, atNs, def.jitterNs + 1);
      }
    }
    return ns;
  }

  /** The least of a limit of space over all rules, Infinity if there is none. */
  least(limit: 'capacityBytes' | 'quotaBytes'): number {
    return this.active.reduce(
      (least, { def }) => Math.min(least, def[limit] ?? Infinity),
      Infinity,
    );
  }

  private applies({ def, matches }: Rule, inode: Inode, from: number, to: number): boolean {
    if (def.fromByte >= to || def.toByte <= from) return false;
    return def.path === '' || matches(this.options.paths.pathOf(inode));
  }

  private stream(what: string, { name }: Rule): Stream {
    const own = name === BASE_RULE ? what : `${what}/${name}`;
    let stream = this.streams.get(own);
    if (stream === undefined) {
      stream = this.options.decisions.stream(`node/${this.options.node}/disk/${own}`);
      this.streams.set(own, stream);
    }
    return stream;
  }
}

/** All bytes of a file. */
export const WHOLE_FILE: readonly [number, number] = [0, DISK_BYTE_MAX];

/** Whole nanoseconds, exact for every count of bytes: bytes times 10^9 would leave 2^53. */
function transferNs(bytes: number, bytesPerSecond: number): VirtualNs {
  const seconds = Math.floor(bytes / bytesPerSecond);
  const rest = BigInt(bytes - seconds * bytesPerSecond) * BigInt(NS_PER_S);
  return seconds * NS_PER_S + Number(rest / BigInt(bytesPerSecond));
}

/** Whether a whole path is as the pattern says; `*` takes any run of characters. */
export function pathMatcher(pattern: string): (path: string) => boolean {
  const parts = pattern.split('*');
  const first = parts[0] as string;
  const last = parts.at(-1) as string;
  if (parts.length === 1) return (path) => path === pattern;
  const middle = parts.slice(1, -1);
  return (path) => {
    if (path.length < first.length + last.length) return false;
    if (!path.startsWith(first) || !path.endsWith(last)) return false;
    const end = path.length - last.length;
    let at = first.length;
    for (const part of middle) {
      const found = path.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

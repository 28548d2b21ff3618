import {
  Decisions,
  Disk,
  DiskAtlas,
  EventLog,
  FileSystem,
  PLAIN_DISK,
  QUIET_RULE,
  type DiskAtlasDef,
  type DiskDef,
  type DiskRuleDef,
  type Inode,
} from '../../sim/index.ts';

export interface SickDiskOptions {
  readonly seed?: number;
  readonly disk?: Partial<Omit<DiskDef, 'rule'>>;
  readonly rule?: Partial<DiskRuleDef>;
  /** Rules that `disk.rules.start` may start. */
  readonly rules?: Readonly<Record<string, Partial<DiskRuleDef>>>;
  readonly atlas?: DiskAtlasDef;
  readonly node?: number;
}

/** A file system on a modelled disk, with what was decided and what struck. */
export class SickDisk {
  readonly decisions: Decisions;
  readonly files = new FileSystem();
  readonly disk: Disk;
  readonly struck: string[] = [];
  nowNs = 0;

  constructor({ seed = 1, disk = {}, rule = {}, rules = {}, atlas, node = 0 }: SickDiskOptions) {
    this.decisions = new Decisions(seed, () => undefined);
    this.disk = new Disk({
      def: { ...PLAIN_DISK, ...disk, rule: { ...QUIET_RULE, ...rule } },
      node,
      nodeName: `n${node}`,
      rules: new Map(
        Object.entries(rules).map(([name, partial]) => [name, { ...QUIET_RULE, ...partial }]),
      ),
      atlas: atlas === undefined ? null : new DiskAtlas(atlas, this.decisions),
      decisions: this.decisions,
      events: new EventLog(() => undefined),
      nowNs: () => this.nowNs,
      hang: () => true,
      note: (text) => this.struck.push(text),
    });
    this.files.attach(this.disk);
  }

  /** A loss of power that is decided by the seed, or by the answers. */
  crash(decide?: (arity: number) => number, atNs = this.nowNs): void {
    const stream = this.decisions.stream('crash');
    this.files.crash(decide ?? ((arity) => this.decisions.decide(stream, atNs, arity)), atNs);
  }

  /** The whole content of a file, as reads give it. */
  content(inode: Inode): Uint8Array {
    const into = new Uint8Array(this.files.stat(inode).size);
    const count = this.files.read(inode, 0, into);
    return count < 0 ? new Uint8Array(0) : into;
  }
}

export const ALWAYS = 1_000_000;

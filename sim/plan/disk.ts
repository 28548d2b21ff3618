import { MILLION, VIRTUAL_NS_MAX, type Millionths, type VirtualNs } from '../kernel/units.ts';

/**
 * What a disk's rule asks of each operation it applies to. A rate of 0 draws nothing; a limit of
 * null and a time of 0 are none. Rules that hold at one time add up: each draws by itself, times
 * add, the least limit holds (CR-82).
 */
export interface DiskRuleDef {
  /** Whole paths, in which `*` takes any run of characters; '' means every file. */
  readonly path: string;
  /** Bytes of a file that the rule applies to, from `fromByte` up to but not including `toByte`. */
  readonly fromByte: number;
  readonly toByte: number;
  /** A read, a write or a synchronisation fails with IO and does nothing. */
  readonly readError: Millionths;
  readonly writeError: Millionths;
  readonly syncError: Millionths;
  /** What a failed synchronisation leaves: pages to be written again, or pages marked clean. */
  readonly failedSync: 'dirty' | 'clean';
  /** A synchronisation succeeds while the device keeps the bytes in its volatile cache. */
  readonly lyingFlush: Millionths;
  /** What becomes of a page on its way to the device, which acknowledges it all the same. */
  readonly lostWrite: Millionths;
  readonly tornWrite: Millionths;
  readonly misdirectedWrite: Millionths;
  /** A read gives another page's bytes, once. */
  readonly misdirectedRead: Millionths;
  /** A read finds one bit of the medium turned over, for good. */
  readonly bitRot: Millionths;
  /** A read finds a page of the medium unreadable, until it is written as a whole. */
  readonly latentError: Millionths;
  /** Space for the bytes of files (NOSPC) and what one may use of it (DQUOT); no path applies. */
  readonly capacityBytes: number | null;
  readonly quotaBytes: number | null;
  /** What an operation takes on top of its usual time, and what its bytes take. */
  readonly readLatencyNs: VirtualNs;
  readonly writeLatencyNs: VirtualNs;
  readonly syncLatencyNs: VirtualNs;
  readonly bytesPerSecond: number | null;
  /** An operation takes up to this much more: a decision each. */
  readonly jitterNs: VirtualNs;
  /** An operation stalls for `stallNs`, or, with null, until the rule ends. */
  readonly stall: Millionths;
  readonly stallNs: VirtualNs | null;
}

/** A disk as a node has it from the start. */
export interface DiskDef {
  /** What the device writes as a whole. */
  readonly sectorBytes: 512 | 4096;
  /**
   * What a loss of power keeps of what was not durable: of each file all or nothing, the first
   * writes in their order, or of each page the first writes to it.
   */
  readonly crash: DiskCrash;
  /** How often the first write that a loss of power does not keep is kept up to some sector. */
  readonly tear: Millionths;
  /** Whether written pages are read from memory; without it, from the device. */
  readonly pageCache: boolean;
  readonly rule: DiskRuleDef;
}

export type DiskCrash = 'file' | 'ordered' | 'reordered';

/**
 * Keeps damage within what a replicated system must survive: of each chunk of each file, at most
 * `faultyMax` of the nodes are ever damaged (TigerBeetle: ClusterFaultAtlas).
 */
export interface DiskAtlasDef {
  readonly nodes: readonly number[];
  readonly faultyMax: number;
  readonly chunkBytes: number;
}

/** The names of the faults that are drawn for each operation. */
export const DISK_RATES = [
  'readError',
  'writeError',
  'syncError',
  'lyingFlush',
  'lostWrite',
  'tornWrite',
  'misdirectedWrite',
  'misdirectedRead',
  'bitRot',
  'latentError',
  'stall',
] as const;
export type DiskRate = (typeof DISK_RATES)[number];

/** No byte of a file lies beyond. */
export const DISK_BYTE_MAX = Number.MAX_SAFE_INTEGER;
/** A single operation takes less than this: an hour, so that sums stay exact. */
export const DISK_NS_MAX: VirtualNs = 3_600_000_000_000;
export const DISK_PATH_LENGTH_MAX = 1_024;

/** A rule that does nothing. */
export const QUIET_RULE: DiskRuleDef = {
  path: '',
  fromByte: 0,
  toByte: DISK_BYTE_MAX,
  readError: 0,
  writeError: 0,
  syncError: 0,
  failedSync: 'dirty',
  lyingFlush: 0,
  lostWrite: 0,
  tornWrite: 0,
  misdirectedWrite: 0,
  misdirectedRead: 0,
  bitRot: 0,
  latentError: 0,
  capacityBytes: null,
  quotaBytes: null,
  readLatencyNs: 0,
  writeLatencyNs: 0,
  syncLatencyNs: 0,
  bytesPerSecond: null,
  jitterNs: 0,
  stall: 0,
  stallNs: 0,
};

/** The disk of a node of which only an event says something. */
export const PLAIN_DISK: DiskDef = {
  sectorBytes: 512,
  crash: 'file',
  tear: 0,
  pageCache: true,
  rule: QUIET_RULE,
};

/** What is wrong with a rule by itself, as field and reason; null if nothing is. */
export function faultOfRule(rule: DiskRuleDef): readonly [keyof DiskRuleDef, string] | null {
  for (const rate of DISK_RATES) {
    if (!within(rule[rate], 0, MILLION)) return [rate, 'it is no share'];
  }
  const { fromByte, toByte, capacityBytes, quotaBytes, bytesPerSecond } = rule;
  if (rule.path.length > DISK_PATH_LENGTH_MAX) return ['path', 'it is too long'];
  if (!within(fromByte, 0, DISK_BYTE_MAX)) return ['fromByte', 'it is no offset'];
  if (!within(toByte, fromByte + 1, DISK_BYTE_MAX)) return ['toByte', 'the range is empty'];
  for (const key of ['capacityBytes', 'quotaBytes', 'bytesPerSecond'] as const) {
    const limit = rule[key];
    const least = key === 'bytesPerSecond' ? 1_000 : 0;
    if (limit !== null && !within(limit, least, DISK_BYTE_MAX)) return [key, `below ${least}`];
  }
  for (const key of ['readLatencyNs', 'writeLatencyNs', 'syncLatencyNs', 'jitterNs'] as const) {
    if (!within(rule[key], 0, DISK_NS_MAX)) return [key, 'it is longer than an hour'];
  }
  const stallNs = rule.stallNs ?? DISK_NS_MAX;
  if (!within(stallNs, 0, DISK_NS_MAX)) return ['stallNs', 'it is longer than an hour'];
  if (rule.stall > 0 !== stallNs > 0) {
    return ['stall', 'a share of stalls and how long they last belong together'];
  }
  if (rule.lostWrite + rule.tornWrite + rule.misdirectedWrite > MILLION) {
    return ['lostWrite', 'lost, torn and misdirected writes exclude one another: above 100 %'];
  }
  const partial = rule.path !== '' || fromByte > 0 || toByte < DISK_BYTE_MAX;
  if (partial && (capacityBytes !== null || quotaBytes !== null)) {
    return ['capacityBytes', 'space is of the whole disk: no path and no bytes apply to it'];
  }
  return bytesPerSecond !== null && VIRTUAL_NS_MAX / bytesPerSecond < 1
    ? ['bytesPerSecond', 'it is too fast']
    : null;
}

/** Whether a rule does anything at all. */
export function isQuiet(rule: DiskRuleDef): boolean {
  const limits = [rule.capacityBytes, rule.quotaBytes, rule.bytesPerSecond];
  const times = [rule.readLatencyNs, rule.writeLatencyNs, rule.syncLatencyNs, rule.jitterNs];
  return (
    DISK_RATES.every((rate) => rule[rate] === 0) &&
    limits.every((limit) => limit === null) &&
    times.every((ns) => ns === 0)
  );
}

function within(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

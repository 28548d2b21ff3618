import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeDraft } from '../../bridge/index.ts';
import {
  decodeCanonical,
  encodeCanonical,
  openDocument,
  readBytes,
  readHex,
  readInteger,
  readNullable,
  readReadyNode,
  readRecord,
  readVariant,
  readWord,
  type ReadyNode,
} from '../../sim/index.ts';
import { sha256Hex } from '../zip.ts';
import { withLock, type OnWait } from './cache-lock.ts';
import { readCourse, type MachineCourse } from './machine-state.ts';
import type { ReadyEvent } from './ready-watch.ts';

/** A machine where it is ready, as the cache keeps it. */
export interface ReadyState {
  /** What the machine and its condition are: equal ones have an equal state. */
  readonly key: string;
  /** SHA-256 over all that a run can see of the state. */
  readonly digest: string;
  /** Where its memory and devices are. */
  readonly folder: string;
  readonly course: MachineCourse;
  /** Digests of its memory and devices, as `MachineHash` has them. */
  readonly hash: string;
  readonly event: ReadyEvent | null;
  readonly node: ReadyNode;
}

type ReadyDocument = Pick<ReadyState, 'course' | 'hash' | 'event' | 'node'>;

/** Each holds a machine's memory: what nobody has used for longest goes first. */
export const READY_ENTRIES_MAX = 32;

const VERSION = 1;
const DOCUMENT = { document: 'ready point', version: VERSION } as const;
const LINE_BYTES_MAX = 65_536;
const KEY = /^[0-9a-f]{64}$/;

const readReadyDocument = readRecord<ReadyDocument>({
  course: readCourse,
  hash: readHex(32),
  event: readNullable(
    readVariant<ReadyEvent>({
      bell: readRecord<Extract<ReadyEvent, { kind: 'bell' }>>({
        kind: readWord(['bell']),
        value: readInteger(),
      }),
      console: readRecord<Extract<ReadyEvent, { kind: 'console' }>>({
        kind: readWord(['console']),
        port: readInteger(),
        bytes: readBytes(LINE_BYTES_MAX),
      }),
    }),
  ),
  node: readReadyNode,
});

/**
 * Ready points in a folder: of each a folder named by its key, with the checkpoint of the machine
 * (`ram`, `state`), what the world holds of it (`ready`), and SHA-256 of what is small (`sums`).
 * An entry is written whole under another name and then renamed, so that there is no half one.
 */
export class ReadyCache {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Calls `work` while nobody else makes the entry of that name. */
  alone<T>(key: string, work: () => T, onWait: OnWait): T {
    mkdirSync(this.folder, { recursive: true });
    return withLock(`${this.entry(key)}.lock`, work, onWait);
  }

  /** A folder to write a checkpoint into; `drop` ends it, whether it was kept or not. */
  draft(): string {
    const draft = join(makeDraft(this.folder), 'entry');
    mkdirSync(draft);
    return draft;
  }

  drop(draft: string): void {
    rmSync(join(draft, '..'), { recursive: true, force: true });
  }

  /** Makes an entry of a draft that holds a checkpoint; where somebody was sooner, theirs stays. */
  keep(draft: string, key: string, found: ReadyDocument): void {
    const ready = encodeCanonical({ schema_version: VERSION, ...found });
    writeFileSync(join(draft, 'ready'), ready);
    const state = sha256Hex(readFileSync(join(draft, 'state')));
    writeFileSync(join(draft, 'sums'), sumsOf(sha256Hex(ready), state));
    const entry = this.entry(key);
    if (!existsSync(entry)) renameOver(draft, entry);
    this.removeOldest();
  }

  /** The entry of that name; null if there is none, or none that is whole. */
  open(key: string, memoryBytes: number): ReadyState | null {
    const folder = this.entry(key);
    try {
      const ready = readFileSync(join(folder, 'ready'));
      const digest = sha256Hex(ready);
      const state = sha256Hex(readFileSync(join(folder, 'state')));
      if (readFileSync(join(folder, 'sums'), 'latin1') !== sumsOf(digest, state)) return null;
      if (statSync(join(folder, 'ram')).size !== memoryBytes) return null;
      const fields = openDocument(decodeCanonical(ready), DOCUMENT);
      markUsed(folder);
      return { key, digest, folder, ...readReadyDocument(fields, 'ready') };
    } catch {
      return null;
    }
  }

  /** Takes an entry away that is not whole, so that it is made anew. */
  remove(key: string): void {
    const entry = this.entry(key);
    if (!existsSync(entry)) return;
    // It goes at once for everybody else, whatever becomes of the rest.
    const draft = makeDraft(this.folder);
    renameOver(entry, join(draft, 'removed'));
    rmSync(draft, { recursive: true, force: true });
  }

  private removeOldest(): void {
    const entries = readdirSync(this.folder).filter((name) => KEY.test(name));
    if (entries.length <= READY_ENTRIES_MAX) return;
    const used = entries.map((name) => {
      const usedMs = statSync(join(this.folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
      return [name, usedMs] as const;
    });
    used.sort((a, b) => b[1] - a[1]);
    for (const [name] of used.slice(READY_ENTRIES_MAX)) this.remove(name);
  }

  private entry(key: string): string {
    return join(this.folder, key);
  }
}

/** A cache that cannot be written to serves all the same. */
function markUsed(folder: string): void {
  try {
    const now = new Date();
    utimesSync(folder, now, now);
  } catch {
    return;
  }
}

function sumsOf(ready: string, state: string): string {
  return `${ready}  ready\n${state}  state\n`;
}

/** Gives a folder another name, unless somebody has done the same in the meantime. */
function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}

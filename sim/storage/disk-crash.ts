import type { VirtualNs } from '../kernel/units.ts';
import type { Disk } from './disk.ts';
import type { FileNode, Inode, Node } from './inode.ts';
import { applyWrite, type FileWrites, type PageWrite } from './write-log.ts';
import { contentOf, torn } from './write-out.ts';

type Decide = (arity: number) => number;

/** What a loss of power keeps of a file's writes. */
interface Kept {
  readonly writes: readonly PageWrite[];
  readonly all: boolean;
}

/**
 * A loss of power at `atNs`: chooses what of the write log reached the medium, by the disk's
 * policy, and leaves the page cache empty. `reached` are the nodes that still have a name.
 */
export function settleWrites(
  disk: Disk,
  reached: readonly Node[],
  atNs: VirtualNs,
  decide: Decide,
): void {
  undoFlight(disk, atNs);
  const nodes = reached.filter((node): node is FileNode => node.kind === 'file');
  const files = nodes.flatMap((node): (readonly [FileNode, FileWrites])[] => {
    const writes = disk.log.find(node.inode);
    return writes === undefined ? [] : [[node, writes]];
  });
  const kept = choose(disk, files, decide);
  for (const [{ inode }, { writes }] of files) {
    tellLoss(disk, inode, writes, kept.get(inode)?.writes ?? []);
  }
  for (const node of nodes) {
    const { all = true, writes = [] } = kept.get(node.inode) ?? {};
    const whole = all && !disk.diverged.has(node.inode);
    const medium = contentOf(node.durable.content);
    if (whole) medium.reset(node.content.version());
    else for (const write of writes) applyWrite(medium, write);
    const times = whole && writes.length > 0 ? node.times : node.durable.times;
    node.durable = { content: medium.version(), times };
    node.content.reset(node.durable.content);
    node.times = times;
    node.dirty = false;
  }
  disk.log.clear();
  disk.diverged = new Set();
}

/** Tells people how many of a file's writes a loss of power took; torn ones are among them. */
function tellLoss(
  disk: Disk,
  inode: Inode,
  volatile: readonly PageWrite[],
  kept: readonly PageWrite[],
): void {
  const whole = new Set(kept);
  const lost = volatile.filter((write) => !whole.has(write)).length;
  if (lost === 0) return;
  const count = `${lost} of ${volatile.length} writes`;
  disk.options.note(`power loss takes ${count} to ${disk.nameOf(inode)}`);
}

/** A synchronisation that the loss of power interrupted may be in effect or not. */
function undoFlight(disk: Disk, atNs: VirtualNs): void {
  const { inFlight } = disk;
  disk.inFlight = null;
  if (inFlight === null || atNs >= inFlight.untilNs) return;
  const node = disk.table.find(inFlight.inode);
  if (node?.kind !== 'file') return;
  node.durable = { content: inFlight.content, times: inFlight.times };
  disk.log.put(inFlight.inode, inFlight.writes);
}

function choose(
  disk: Disk,
  files: readonly (readonly [FileNode, FileWrites])[],
  decide: Decide,
): ReadonlyMap<Inode, Kept> {
  switch (disk.options.def.crash) {
    case 'file':
      return new Map(files.map(([{ inode }, writes]) => [inode, allOrNothing(writes, decide)]));
    case 'ordered':
      return inOrder(disk, files, decide);
    case 'reordered':
      return new Map(files.map(([{ inode }, { writes }]) => [inode, byPage(disk, writes, decide)]));
  }
}

/** Of each file what the device has, or not, and then what only the page cache has, or not. */
function allOrNothing({ writes, written }: FileWrites, decide: Decide): Kept {
  const cached = writes.slice(0, written);
  const pending = writes.slice(written);
  const keepsCached = cached.length === 0 || decide(2) === 1;
  const keepsPending = pending.length > 0 && decide(2) === 1;
  const kept = [...(keepsCached ? cached : []), ...(keepsPending ? pending : [])];
  return { writes: kept, all: kept.length === writes.length };
}

/** The first of all writes of the disk, up to some number. */
function inOrder(
  disk: Disk,
  files: readonly (readonly [FileNode, FileWrites])[],
  decide: Decide,
): ReadonlyMap<Inode, Kept> {
  const all = files.flatMap(([, { writes }]) => writes).sort((a, b) => a.sequence - b.sequence);
  const count = decide(all.length + 1);
  const next = all[count];
  return new Map(
    files.map(([{ inode }, { writes }]) => {
      const cut = next === undefined ? Infinity : next.sequence;
      const kept = writes.filter((write) => write.sequence < cut);
      const whole = kept.length === writes.length;
      if (next !== undefined && writes.includes(next)) kept.push(...tear(disk, next));
      return [inode, { writes: kept, all: whole }];
    }),
  );
}

/** Of each page, and of the size, the first writes up to some number. */
function byPage(disk: Disk, writes: readonly PageWrite[], decide: Decide): Kept {
  const pages = new Map<number, PageWrite[]>();
  for (const write of writes) {
    const known = pages.get(write.page);
    if (known === undefined) pages.set(write.page, [write]);
    else known.push(write);
  }
  const kept: PageWrite[] = [];
  let all = true;
  for (const ofPage of pages.values()) {
    const count = decide(ofPage.length + 1);
    kept.push(...ofPage.slice(0, count));
    if (count === ofPage.length) continue;
    all = false;
    kept.push(...tear(disk, ofPage[count] as PageWrite));
  }
  return { writes: kept.sort((a, b) => a.sequence - b.sequence), all };
}

/** Some first sectors of the first write that is not kept, or nothing. */
function tear(disk: Disk, write: PageWrite): PageWrite[] {
  const { rules, nowNs } = disk;
  const { def } = disk.options;
  if (!rules.tears(def.tear, nowNs)) return [];
  const part = torn(write, def.sectorBytes, (arity) => {
    return rules.choose('crash/tear-sectors', nowNs, arity);
  });
  return part === null ? [] : [part];
}

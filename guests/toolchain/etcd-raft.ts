import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SimError } from '../../sim/index.ts';
import { cached, cacheDirectory } from './cache.ts';
import { toolchainMissing } from './command.ts';
import { compileGo, needGo } from './go.ts';
import { guestPath } from './root.ts';
import { readSourceTree, sha256Hex, sourceDigest, under, type SourceFile } from './sources.ts';

/** Where Debian's `golang-…-dev` packages put sources; a GOPATH. */
const DEBIAN_GOPATH = '/usr/share/gocode';
const LIBRARY = 'go.etcd.io/etcd/raft';
/** What the library is compiled with besides; a change of theirs is another build. */
const DEPENDENCIES = ['github.com/gogo/protobuf', 'github.com/golang/protobuf'];

/** A change of one source file: `from` stands there exactly once, and becomes `to`. */
export interface SourceChange {
  /** Below the GOPATH's `src`: of our program (`athanor/etcdraft/…`) or of the library. */
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** The library forgets for whom it voted: what it asks to be made durable lacks the vote. */
export const FORGET_VOTE: SourceChange = {
  path: `${LIBRARY}/raft.go`,
  from: '\t\tVote:   r.Vote,\n',
  to: '',
};

/** Whether Debian's `golang-etcd-server-dev` is installed. */
export function hasEtcdRaft(): boolean {
  return existsSync(join(DEBIAN_GOPATH, 'src', LIBRARY, 'raft.go'));
}

/**
 * The guest `etcdraft` over etcd's raft library as Debian ships it, with `changes` made to copies of the
 * sources; without any, the library is compiled where it lies. Nothing of the library is kept but
 * the module in the cache of builds. Errors: `backend/toolchain-missing`, `input/source-change`,
 * `guest/compile-failed`.
 */
export async function buildEtcdRaft(changes: readonly SourceChange[] = []): Promise<Uint8Array> {
  const toolchain = await needGo();
  if (!hasEtcdRaft()) {
    throw toolchainMissing(
      'golang-etcd-server-dev',
      'install it (Debian 12), or run the setup command of guests/toolchain as root',
    );
  }
  const library = under(LIBRARY, readLibrary(LIBRARY));
  const own = [
    ...under('athanor/etcdraft', readSourceTree(guestPath('etcdraft'))),
    ...under('athanor/simnet', readSourceTree(guestPath('sdk', 'go'))),
  ];
  const copied = changes.some(({ path }) => path.startsWith(LIBRARY)) ? library : [];
  const files = changes.reduce(change, [...own, ...copied]);
  const dependencies = DEPENDENCIES.flatMap((path) => under(path, readLibrary(path)));
  const key = {
    toolchain: toolchain.version,
    arguments: 'GOPATH',
    source: sha256Hex(
      new TextEncoder().encode(
        `${sourceDigest(files)} ${sourceDigest(library)} ${sourceDigest(dependencies)}`,
      ),
    ),
  };
  return cached(key, async () => {
    mkdirSync(cacheDirectory(), { recursive: true });
    const path = mkdtempSync(cacheDirectory('go-path-'));
    try {
      for (const file of files) write(join(path, 'src', file.path), file.bytes);
      const program = { directory: join(path, 'src', 'athanor', 'etcdraft') };
      return await compileGo(program, toolchain, {
        GO111MODULE: 'off',
        GOFLAGS: '',
        GOPATH: `${path}:${DEBIAN_GOPATH}`,
      });
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  });
}

/** The Go sources of an installed library, tests left out. */
function readLibrary(path: string): SourceFile[] {
  const files = readSourceTree(join(DEBIAN_GOPATH, 'src', path));
  return files.filter((file) => file.path.endsWith('.go') && !file.path.endsWith('_test.go'));
}

function change(files: readonly SourceFile[], { path, from, to }: SourceChange): SourceFile[] {
  let found = 0;
  const changed = files.map((file) => {
    if (file.path !== path) return file;
    const parts = new TextDecoder().decode(file.bytes).split(from);
    found += parts.length - 1;
    return { path, bytes: new TextEncoder().encode(parts.join(to)) };
  });
  if (found === 1) return changed;
  throw new SimError({
    code: 'input/source-change',
    message: `a change is for a text that stands ${found} times in the source, not once`,
    place: path,
    remedy: 'write the change for this version of the source',
  });
}

function write(path: string, bytes: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

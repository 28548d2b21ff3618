import { beforeEach, describe, expect, it } from 'vitest';
import { LonePort } from '../support/lone-guest.ts';
import { DirectGuest, type Handle } from './direct-guest.ts';

const TYPES = 'wasi:filesystem/types';
const FOLLOW = 1;
const CREATE = 1;
const DIRECTORY = 2;
const EXCLUSIVE = 4;
const TRUNCATE = 8;
const READ = 1;
const WRITE = 2;
const FILE_SYNC = 4;
const MUTATE = 32;

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const ok = (value?: unknown): unknown => ({ ok: true, value });
const error = (code: string): unknown => ({ ok: false, error: code });

let guest: DirectGuest;
let port: LonePort;
let root: Handle;

/** A method of a descriptor. */
function on(descriptor: Handle, method: string, ...values: unknown[]): unknown {
  return guest.call(`${TYPES}#descriptor.${method}`, descriptor, ...values);
}

function valueOf(outcome: unknown): unknown {
  expect(outcome).toMatchObject({ ok: true });
  return (outcome as { value: unknown }).value;
}

function open(path: string, openFlags: number, flags: number, from = root): Handle {
  return valueOf(on(from, 'open-at', FOLLOW, path, openFlags, flags)) as Handle;
}

function write(path: string, content: string): void {
  const file = open(path, CREATE | TRUNCATE, READ | WRITE);
  expect(on(file, 'write', text(content), 0n)).toEqual(ok(BigInt(content.length)));
  guest.drop(`${TYPES}#descriptor`, file);
}

function names(directory: Handle): string[] {
  const stream = valueOf(on(directory, 'read-directory')) as Handle;
  const found: string[] = [];
  for (;;) {
    const entry = valueOf(
      guest.call(`${TYPES}#directory-entry-stream.read-directory-entry`, stream),
    ) as { type: string; name: string } | null;
    if (entry === null) break;
    found.push(`${entry.name} ${entry.type}`);
  }
  guest.drop(`${TYPES}#directory-entry-stream`, stream);
  return found;
}

beforeEach(async () => {
  port = new LonePort();
  guest = await DirectGuest.make(port);
  const preopens = guest.call('wasi:filesystem/preopens#get-directories') as [Handle, string][];
  expect(preopens.map(([, path]) => path)).toEqual(['/']);
  root = preopens[0][0];
});

describe('descriptors', () => {
  it('write and read at offsets, and say where a file ends', () => {
    const file = open('a', CREATE, READ | WRITE);
    expect(on(file, 'write', text('hello world'), 0n)).toEqual(ok(11n));
    expect(on(file, 'write', text('W'), 6n)).toEqual(ok(1n));
    expect(on(file, 'read', 5n, 0n)).toEqual(ok([text('hello'), false]));
    expect(on(file, 'read', 100n, 6n)).toEqual(ok([text('World'), true]));
    expect(on(file, 'read', 100n, 50n)).toEqual(ok([new Uint8Array(0), true]));
    expect(on(file, 'read', 2n ** 64n - 1n, 0n)).toEqual(ok([text('hello World'), true]));
    expect(on(file, 'set-size', 3n)).toEqual(ok());
    expect(on(file, 'read', 100n, 0n)).toEqual(ok([text('hel'), true]));
    expect(on(file, 'get-type')).toEqual(ok('regular-file'));
    expect(on(file, 'get-flags')).toEqual(ok(READ | WRITE));
    expect(on(file, 'sync')).toEqual(ok());
    expect(on(file, 'sync-data')).toEqual(ok());
    expect(on(file, 'advise', 0n, 10n, 'sequential')).toEqual(ok());
    expect(on(root, 'advise', 0n, 10n, 'normal')).toEqual(error('bad-descriptor'));
  });

  it('allow only what they were opened for', () => {
    write('a', 'content');
    const reader = open('a', 0, READ);
    const writer = open('a', 0, WRITE);
    expect(on(reader, 'write', text('x'), 0n)).toEqual(error('bad-descriptor'));
    expect(on(reader, 'set-size', 0n)).toEqual(error('bad-descriptor'));
    expect(on(reader, 'write-via-stream', 0n)).toEqual(error('bad-descriptor'));
    expect(on(reader, 'append-via-stream')).toEqual(error('bad-descriptor'));
    expect(on(writer, 'read', 1n, 0n)).toEqual(error('bad-descriptor'));
    expect(on(writer, 'read-via-stream', 0n)).toEqual(error('bad-descriptor'));
    expect(on(root, 'read', 1n, 0n)).toEqual(error('is-directory'));
    expect(on(root, 'write', text('x'), 0n)).toEqual(error('is-directory'));
    expect(on(reader, 'read-directory')).toEqual(error('not-directory'));
    expect(on(reader, 'stat-at', 0, 'x')).toEqual(error('not-directory'));
  });

  it('stat: kind, links, size and times', () => {
    port.nowNs = 5;
    write('a', 'content');
    port.nowNs = 1_000_000_007;
    expect(on(root, 'link-at', 0, 'a', root, 'b')).toEqual(ok());
    // The write comes after the call that made the file, which took a microsecond.
    const made = { seconds: 1_767_225_600n, nanoseconds: 5 };
    const wrote = { seconds: 1_767_225_600n, nanoseconds: 1005 };
    const linked = { seconds: 1_767_225_601n, nanoseconds: 7 };
    expect(on(root, 'stat-at', 0, 'a')).toEqual(
      ok({
        type: 'regular-file',
        'link-count': 2n,
        size: 7n,
        'data-access-timestamp': made,
        'data-modification-timestamp': wrote,
        'status-change-timestamp': linked,
      }),
    );
    expect(on(root, 'stat')).toMatchObject({ value: { type: 'directory' } });
  });

  it('set times: given, now, unchanged, and not a time', () => {
    write('a', '');
    const file = open('a', 0, READ | WRITE);
    const at = { seconds: 12n, nanoseconds: 34 };
    const keep = { tag: 'no-change' };
    expect(on(file, 'set-times', { tag: 'timestamp', value: at }, keep)).toEqual(ok());
    expect(on(file, 'stat')).toMatchObject({ value: { 'data-access-timestamp': at } });
    port.nowNs = 9;
    const now = { seconds: 1_767_225_600n, nanoseconds: 9 };
    expect(on(root, 'set-times-at', 0, 'a', keep, { tag: 'now' })).toEqual(ok());
    expect(on(file, 'stat')).toMatchObject({
      value: { 'data-access-timestamp': at, 'data-modification-timestamp': now },
    });
    const wrong = { tag: 'timestamp', value: { seconds: 1n, nanoseconds: 1_000_000_000 } };
    expect(on(file, 'set-times', wrong, keep)).toEqual(error('invalid'));
    expect(on(root, 'set-times-at', 0, 'none', keep, keep)).toEqual(error('no-entry'));
  });

  it('know themselves: same object, metadata hash', () => {
    write('a', '1');
    write('b', '2');
    expect(on(root, 'link-at', 0, 'a', root, 'c')).toEqual(ok());
    const [a, b, c] = ['a', 'b', 'c'].map((name) => open(name, 0, READ));
    expect(on(a, 'is-same-object', c)).toBe(true);
    expect(on(a, 'is-same-object', b)).toBe(false);
    expect(on(a, 'metadata-hash')).toEqual(on(root, 'metadata-hash-at', 0, 'c'));
    expect(on(a, 'metadata-hash')).not.toEqual(on(b, 'metadata-hash'));
    expect(on(root, 'metadata-hash-at', 0, 'none')).toEqual(error('no-entry'));
  });

  it('keep an unlinked file alive while they are open', () => {
    write('a', 'still here');
    const file = open('a', 0, READ);
    expect(on(root, 'unlink-file-at', 'a')).toEqual(ok());
    expect(on(file, 'read', 100n, 0n)).toEqual(ok([text('still here'), true]));
    guest.drop(`${TYPES}#descriptor`, file);
    expect(() => on(file, 'stat')).toThrow(/is not a handle for borrow<wasi:filesystem/);
  });
});

describe('open-at', () => {
  it.each([
    ['none', 0, READ, 'no-entry'],
    ['file', CREATE | EXCLUSIVE, READ, 'exist'],
    ['file', DIRECTORY, READ, 'not-directory'],
    ['file/', 0, READ, 'not-directory'],
    ['file/x', 0, READ, 'not-directory'],
    ['new/', CREATE, READ, 'is-directory'],
    ['directory', 0, WRITE, 'is-directory'],
    ['directory', TRUNCATE, READ, 'is-directory'],
    ['directory', DIRECTORY | CREATE, READ, 'invalid'],
    ['', 0, READ, 'no-entry'],
    ['..', 0, READ, 'not-permitted'],
    ['/file', 0, READ, 'not-permitted'],
    ['directory/../../x', 0, READ, 'not-permitted'],
    ['circle', 0, READ, 'loop'],
    ['x'.repeat(256), 0, READ, 'name-too-long'],
    ['a\0b', 0, READ, 'invalid'],
  ])('%j with open flags %i and flags %i: %s', (path, openFlags, flags, code) => {
    write('file', 'x');
    expect(on(root, 'create-directory-at', 'directory')).toEqual(ok());
    expect(on(root, 'symlink-at', 'circle', 'circle')).toEqual(ok());
    expect(on(root, 'open-at', FOLLOW, path, openFlags, flags)).toEqual(error(code));
  });

  it('follows a link only when told to', () => {
    write('file', 'target');
    expect(on(root, 'symlink-at', 'file', 'link')).toEqual(ok());
    expect(on(root, 'open-at', 0, 'link', 0, READ)).toEqual(error('loop'));
    const file = open('link', 0, READ);
    expect(on(file, 'read', 10n, 0n)).toEqual(ok([text('target'), true]));
    expect(on(root, 'readlink-at', 'link')).toEqual(ok('file'));
    expect(on(root, 'readlink-at', 'file')).toEqual(error('invalid'));
    expect(on(root, 'stat-at', 0, 'link')).toMatchObject({ value: { type: 'symbolic-link' } });
    expect(on(root, 'stat-at', FOLLOW, 'link')).toMatchObject({ value: { size: 6n } });
    expect(on(root, 'symlink-at', '/etc/passwd', 'out')).toEqual(error('not-permitted'));
  });

  it('gives no more than its directory may do', () => {
    expect(on(root, 'create-directory-at', 'd')).toEqual(ok());
    const readOnly = open('d', DIRECTORY, READ);
    const writable = open('d', DIRECTORY, READ | MUTATE);
    expect(on(readOnly, 'open-at', 0, 'x', CREATE, READ)).toEqual(error('read-only'));
    expect(on(readOnly, 'create-directory-at', 'x')).toEqual(error('read-only'));
    expect(on(readOnly, 'unlink-file-at', 'x')).toEqual(error('read-only'));
    expect(on(writable, 'open-at', 0, 'x', CREATE | EXCLUSIVE, READ)).toMatchObject({ ok: true });
    expect(on(readOnly, 'open-at', 0, 'x', 0, WRITE)).toEqual(error('read-only'));
    expect(on(readOnly, 'open-at', 0, 'x', 0, READ)).toMatchObject({ ok: true });
  });

  it('with a sync flag makes each write durable', () => {
    const file = open('durable', CREATE, READ | WRITE | FILE_SYNC);
    expect(on(root, 'sync')).toEqual(ok());
    expect(on(file, 'write', text('kept'), 0n)).toEqual(ok(4n));
    const lost = open('lost', CREATE, READ | WRITE);
    expect(on(root, 'sync')).toEqual(ok());
    expect(on(lost, 'write', text('lost'), 0n)).toEqual(ok(4n));
    port.files.crash(() => 0);
    const size = (name: string): number => port.files.stat(port.files.lookup(1, name)).size;
    expect([size('durable'), size('lost')]).toEqual([4, 0]);
  });
});

describe('directories', () => {
  it('list entries in the order of their making, without . and ..', () => {
    write('b', '');
    write('a', '');
    expect(on(root, 'create-directory-at', 'd')).toEqual(ok());
    expect(on(root, 'symlink-at', 'a', 's')).toEqual(ok());
    const listed = ['b regular-file', 'a regular-file', 'd directory', 's symbolic-link'];
    expect(names(root)).toEqual(listed);
  });

  it.each([
    ['create-directory-at', ['file'], 'exist'],
    ['create-directory-at', ['none/x'], 'no-entry'],
    ['remove-directory-at', ['file'], 'not-directory'],
    ['remove-directory-at', ['full'], 'not-empty'],
    ['remove-directory-at', ['full/.'], 'invalid'],
    ['unlink-file-at', ['full'], 'is-directory'],
    ['unlink-file-at', ['full/..'], 'is-directory'],
    ['unlink-file-at', ['none'], 'no-entry'],
    ['symlink-at', ['x', 'file'], 'exist'],
    ['symlink-at', ['x', 'new/'], 'no-entry'],
  ])('%s %j: %s', (method, values, code) => {
    write('file', 'x');
    expect(on(root, 'create-directory-at', 'full')).toEqual(ok());
    write('full/x', 'x');
    expect(on(root, method, ...values)).toEqual(error(code));
  });

  it.each([
    ['file', 'moved', null],
    ['file', 'full/x', null],
    ['file', 'full', 'is-directory'],
    ['file', 'new/', 'not-directory'],
    ['full', 'file', 'not-directory'],
    ['full', 'full/x/y', 'not-directory'],
    ['full', 'full/z', 'invalid'],
    ['full/.', 'other', 'busy'],
    ['none', 'other', 'no-entry'],
    ['file', '../x', 'not-permitted'],
  ])('rename %s to %s: %s', (from, to, code) => {
    write('file', 'moving');
    expect(on(root, 'create-directory-at', 'full')).toEqual(ok());
    write('full/x', 'x');
    const outcome = on(root, 'rename-at', from, root, to);
    expect(outcome).toEqual(code === null ? ok() : error(code));
    if (code !== null) return;
    expect(on(root, 'stat-at', 0, from)).toEqual(error('no-entry'));
    expect(on(root, 'stat-at', 0, to)).toMatchObject({ value: { size: 6n } });
  });

  it('link: no directories, nothing that exists, links themselves', () => {
    write('file', 'x');
    expect(on(root, 'create-directory-at', 'd')).toEqual(ok());
    expect(on(root, 'symlink-at', 'file', 's')).toEqual(ok());
    expect(on(root, 'link-at', 0, 'file', root, 'd/file')).toEqual(ok());
    expect(on(root, 'link-at', 0, 'd', root, 'e')).toEqual(error('not-permitted'));
    expect(on(root, 'link-at', 0, 'file', root, 's')).toEqual(error('exist'));
    expect(on(root, 'link-at', 0, 'none', root, 'n')).toEqual(error('no-entry'));
    expect(on(root, 'link-at', FOLLOW, 's', root, 'n')).toEqual(error('invalid'));
    expect(on(root, 'link-at', 0, 's', root, 'n')).toEqual(ok());
    expect(on(root, 'readlink-at', 'n')).toEqual(ok('file'));
    expect(on(root, 'remove-directory-at', 'd')).toEqual(error('not-empty'));
    expect(on(root, 'unlink-file-at', 'd/file')).toEqual(ok());
    expect(on(root, 'remove-directory-at', 'd')).toEqual(ok());
  });
});

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  filesOfTar,
  findGo,
  findGuest,
  findRust,
  GUESTS,
  listSources,
  loadGuest,
  readSources,
  sourceDigest,
  type SourceFile,
} from '../../guests/index.ts';
import { run } from '../../guests/toolchain/command.ts';

const file = (path: string, text: string): SourceFile => ({
  path,
  bytes: new TextEncoder().encode(text),
});

/** One ustar member: a header of 512 bytes, then the content in blocks of 512. */
function tarMember(name: string, text: string, type = '0'): Uint8Array {
  const content = new TextEncoder().encode(text);
  const member = new Uint8Array(512 + Math.ceil(content.length / 512) * 512);
  const put = (offset: number, value: string): void => {
    member.set(new TextEncoder().encode(value), offset);
  };
  put(0, name);
  put(124, content.length.toString(8).padStart(11, '0'));
  put(156, type);
  put(257, 'ustar');
  member.set(content, 512);
  return member;
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

describe('sources', () => {
  it('have a digest of names and contents, not of their order', () => {
    const a = file('a.c', 'int a;');
    const b = file('b.c', 'int b;');
    expect(sourceDigest([a, b])).toBe(sourceDigest([b, a]));
    expect(sourceDigest([a])).not.toBe(sourceDigest([a, b]));
    expect(sourceDigest([a])).not.toBe(sourceDigest([file('b.c', 'int a;')]));
    expect(sourceDigest([a])).not.toBe(sourceDigest([file('a.c', 'int a; ')]));
    expect(sourceDigest([file('a', 'b'), file('c', '')])).not.toBe(
      sourceDigest([file('a', ''), file('c', 'b')]),
    );
  });

  it('are listed in one order, without hidden files', () => {
    const directory = mkdtempSync(join(tmpdir(), 'athanor-sources-'));
    mkdirSync(join(directory, 'Z'));
    mkdirSync(join(directory, '.git'));
    for (const name of ['b.c', 'a.c', 'Z/c.h', '.hidden', '.git/config']) {
      writeFileSync(join(directory, name), '');
    }
    expect(listSources(directory)).toEqual(['Z/c.h', 'a.c', 'b.c']);
    expect(() => readSources(directory, ['absent.c'])).toThrow(
      expect.objectContaining({ code: 'input/source-missing', place: 'absent.c' }),
    );
    expect(() => readSources(directory, ['Z'])).toThrow(
      expect.objectContaining({ code: 'input/source-missing' }),
    );
  });
});

describe('the archive reader', () => {
  const archive = concatenate([
    tarMember('package/', '', '5'),
    tarMember('package/a.c', 'x'.repeat(700)),
    tarMember('package/link', '', '2'),
    tarMember('package/b.h', 'int b;'),
    new Uint8Array(1024),
  ]);

  it('finds regular files only', () => {
    const files = filesOfTar(archive);
    expect([...files.keys()]).toEqual(['package/a.c', 'package/b.h']);
    expect(new TextDecoder().decode(files.get('package/b.h'))).toBe('int b;');
  });

  it('ends at the first damage, at each length of the archive', () => {
    const whole = filesOfTar(archive);
    for (let length = 0; length < archive.length; length += 13) {
      for (const [name, bytes] of filesOfTar(archive.subarray(0, length))) {
        expect(Buffer.compare(bytes, whole.get(name) ?? new Uint8Array())).toBe(0);
      }
    }
    const hostile = archive.slice();
    hostile.set(new TextEncoder().encode('zzzzzzzzzzz'), 512 + 124);
    expect([...filesOfTar(hostile).keys()]).toEqual([]);
  });
});

describe('the search for a compiler', () => {
  /** A program that answers every question with one line. */
  function impostor(answer: string): string {
    const path = join(mkdtempSync(join(tmpdir(), 'athanor-compiler-')), 'compiler');
    writeFileSync(path, `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
    return path;
  }

  it('takes the first Go that is new enough', async () => {
    const [old, good] = [impostor('go version go1.19.8 x'), impostor('go version go1.23.5 x')];
    expect(await findGo(['athanor-no-such-program', old])).toBeUndefined();
    expect(await findGo([old, good])).toEqual({ program: good, version: 'go version go1.23.5 x' });
  });

  it('takes no rustc without the library of a preview 1 target', async () => {
    expect(await findRust(['athanor-no-such-program', impostor('/nowhere')])).toBeUndefined();
    const sysroot = mkdtempSync(join(tmpdir(), 'athanor-sysroot-'));
    mkdirSync(join(sysroot, 'lib/rustlib/wasm32-wasip1/lib'), { recursive: true });
    const rustc = impostor(sysroot);
    expect(await findRust([rustc])).toEqual({
      program: rustc,
      version: sysroot,
      target: 'wasm32-wasip1',
    });
  });
});

describe('the catalogue', () => {
  it('names each guest once', () => {
    expect(new Set(GUESTS.map((guest) => guest.name)).size).toBe(GUESTS.length);
  });

  it('answers the artefact of a committed guest', async () => {
    expect(WebAssembly.validate(new Uint8Array(await loadGuest('sha256')))).toBe(true);
  });

  it('names what there is when it is asked for something else', () => {
    expect(() => findGuest('nothing')).toThrow(
      expect.objectContaining({
        code: 'input/unknown-guest',
        remedy: expect.stringContaining('sqlite') as string,
      }),
    );
  });

  it('knows a missing program from a failing one, and hands on no other environment', async () => {
    process.env.ATHANOR_SECRET = 'secret';
    const directory = tmpdir();
    expect(await run({ program: 'athanor-no-such-program', args: [], directory })).toBeUndefined();
    expect((await run({ program: 'false', args: [], directory }))?.exitCode).toBe(1);
    const env = await run({ program: 'env', args: [], directory, environment: { EXTRA: '1' } });
    expect(env?.output).toContain('EXTRA=1\n');
    expect(env?.output).toContain('TZ=UTC\n');
    expect(env?.output).not.toContain('ATHANOR_SECRET');
    delete process.env.ATHANOR_SECRET;
  });
});

import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseIndex } from '../../bridge/build/debian-source.ts';
import { withDraft } from '../../bridge/build/draft.ts';
import { buildIdOf, readBuildId } from '../../bridge/build/qemu-binary.ts';
import { findBackend, missingPackages, setUpPlugin } from '../../bridge/index.ts';
import { elfWithBuildId, identityOfPretended, pretendSetUp } from '../support/pretend-setup.ts';
import { SimFolder } from '../cli/sim.ts';

const ID = Buffer.from('0fbbd5ca8d2d0a32532049e20739f3e0d521c5ed', 'hex');
const OTHER_ID = Buffer.from('1111111111111111111111111111111111111111', 'hex');

/** A cache, and its part for machines. */
let cache = '';
let folder = '';
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'athanor-setup-'));
  folder = join(cache, 'machines');
  mkdirSync(folder);
});
afterEach(() => {
  rmSync(cache, { recursive: true, force: true });
});

describe('the index of source packages', () => {
  const stanza = (version: string, name: string): string => {
    const sum = createHash('sha256').update(name).digest('hex');
    return `Package: qemu\nVersion: ${version}\nChecksums-Sha256:\n ${sum} 40 ${name}\nFormat: 3.0\n`;
  };

  it('gives the newest of the supported versions, with its sums', () => {
    const text = ['1:10.0.2+ds-2', '1:10.1.0+ds-1', '1:10.0.13+ds-0+deb13u1', '1:9.2.0+ds-1']
      .map((version) => stanza(version, `qemu_${version.slice(2)}.orig.tar.xz`))
      .join('\n');
    const entry = parseIndex(text);
    expect(entry).toMatchObject({ version: '10.0.13', packageVersion: '1:10.0.13+ds-0+deb13u1' });
    const name = 'qemu_10.0.13+ds-0+deb13u1.orig.tar.xz';
    expect(entry?.files).toEqual([[name, createHash('sha256').update(name).digest('hex')]]);
  });

  it('gives the version that is wanted, and no other', () => {
    const text = ['1:10.0.2+ds-2+deb13u1~bpo12+1', '1:10.0.13+ds-0+deb13u1']
      .map((version) => stanza(version, `qemu_${version.slice(2)}.orig.tar.xz`))
      .join('\n');
    const wanted = '1:10.0.2+ds-2+deb13u1~bpo12+1';
    expect(parseIndex(text, wanted)).toMatchObject({ version: '10.0.2', packageVersion: wanted });
    expect(parseIndex(text, '1:10.0.3+ds-1')).toBeUndefined();
  });

  it('gives nothing where there is nothing that would do', () => {
    expect(parseIndex('')).toBeUndefined();
    expect(parseIndex(stanza('1:11.0.0+ds-1', 'qemu.orig.tar.xz'))).toBeUndefined();
    expect(parseIndex('Package: qemu\nVersion: 1:10.0.2+ds-2\n')).toBeUndefined();
  });
});

describe('the build id of a binary', () => {
  it('is read from its notes, past others', () => {
    expect(readBuildId(elfWithBuildId(ID))).toBe(ID.toString('hex'));
  });

  it('is empty for what is no such file, wherever it is cut or damaged', () => {
    const whole = elfWithBuildId(ID);
    for (let length = 0; length < whole.length; length++) {
      expect(ID.toString('hex').startsWith(readBuildId(whole.subarray(0, length)))).toBe(true);
    }
    for (let at = 0; at < whole.length - ID.length; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] = 0xff;
      expect(typeof readBuildId(damaged)).toBe('string');
    }
    expect(readBuildId(Buffer.from('#!/bin/sh\n'.repeat(20)))).toBe('');
  });
});

describe('setting up with a QEMU that will not do', () => {
  const setUp = (qemu: string): Promise<unknown> => {
    return setUpPlugin({ cacheFolder: folder, qemu, say: () => undefined });
  };
  const pretend = (script: string): string => {
    const path = join(folder, 'qemu');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };

  it('says that it is of another version, and which would do', async () => {
    const old = pretend('echo "QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7)"');
    await expect(setUp(old)).rejects.toMatchObject({
      code: 'backend/version',
      exitCode: 4,
      message: 'QEMU is of version 7.2.19, the plugin is for 10.0',
      remedy: expect.stringContaining('backports') as string,
    });
  });

  it('says that it is not there, or what it said when it failed', async () => {
    const nothing = join(folder, 'nothing');
    await expect(setUp(nothing)).rejects.toMatchObject({ code: 'backend/missing', place: nothing });
    const broken = pretend('echo "no library of that name" >&2; exit 127');
    await expect(setUp(broken)).rejects.toMatchObject({
      code: 'backend/program-failed',
      message: expect.stringContaining('no library of that name') as string,
    });
    expect(readdirSync(folder)).toEqual(['qemu']);
  });

  it('says which packages are missing', async () => {
    expect(await missingPackages(['dpkg', 'no-such-package-here'])).toEqual([
      'no-such-package-here',
    ]);
  });
});

describe('drafts', () => {
  it('go when the work ends, and what a dead process left goes with the next', async () => {
    const living = join(folder, `draft-${process.pid}-other`);
    mkdirSync(living);
    mkdirSync(join(folder, 'draft-99999999-left'));
    mkdirSync(join(folder, 'patched-0123'));
    const failing = withDraft(folder, (draft) => {
      expect(existsSync(draft)).toBe(true);
      return Promise.reject(new Error('no'));
    });
    await expect(failing).rejects.toThrow('no');
    expect(readdirSync(folder).sort()).toEqual([`draft-${process.pid}-other`, 'patched-0123']);
  });
});

describe('looking for the backend (CR-49)', () => {
  it('finds what was set up, plugin before patched, and the one that is asked for', () => {
    pretendSetUp(folder, 'patched');
    expect(findBackend(folder)).toMatchObject({
      kind: 'patched',
      identity: identityOfPretended('patched'),
    });
    pretendSetUp(folder, 'plugin');
    expect(findBackend(folder).kind).toBe('plugin');
    expect(findBackend(folder, 'patched').kind).toBe('patched');
  });

  it('says how to set machines up where they are not, or for another adapter only', () => {
    const missing = { code: 'backend/missing', exitCode: 4 };
    expect(() => findBackend(folder)).toThrow(expect.objectContaining(missing));
    pretendSetUp(folder, 'plugin', { digest: 'ab'.repeat(32) });
    expect(() => findBackend(folder)).toThrow(expect.objectContaining(missing));
    pretendSetUp(folder, 'plugin');
    expect(() => findBackend(folder, 'patched')).toThrow(
      expect.objectContaining({
        ...missing,
        remedy: 'run `sim vm setup --backend patched`',
      }),
    );
  });

  const changes: Record<string, (binary: string) => void> = {
    'another build of QEMU': (binary) => {
      writeFileSync(binary, elfWithBuildId(OTHER_ID));
    },
    'another adapter in its place': () => {
      writeFileSync(join(folder, 'sim.so'), 'something');
    },
    'an adapter that is gone': () => {
      rmSync(join(folder, 'sim.so'));
    },
    'a record that is damaged': () => {
      const name = readdirSync(folder).find((each) => each.endsWith('.json')) ?? '';
      writeFileSync(join(folder, name), '{"schema_version":');
    },
  };
  it.each(Object.entries(changes))('refuses %s', (_name, change) => {
    const { binary } = pretendSetUp(folder, 'plugin');
    change(binary);
    const refusal = { code: 'backend/identity', exitCode: 4 };
    expect(() => findBackend(folder)).toThrow(expect.objectContaining(refusal));
  });

  it('says that QEMU is not installed any more', () => {
    rmSync(pretendSetUp(folder, 'plugin').binary);
    expect(() => findBackend(folder)).toThrow(
      expect.objectContaining({ code: 'backend/missing', place: join(folder, 'qemu-plugin') }),
    );
    expect(() => buildIdOf(join(folder, 'nothing'))).toThrow(/not installed/);
  });
});

describe('sim doctor', () => {
  it('says whether machines are set up, and which backend runs them', async () => {
    const place = new SimFolder();
    const env = { ATHANOR_CACHE: cache };
    const machines = async (): Promise<unknown> => {
      const { exitCode, records } = await place.sim(['doctor'], { env });
      const found = records().find(({ check }) => check === 'machines');
      return { exitCode, ok: found?.['ok'], detail: found?.['detail'] };
    };
    const none = 'not set up; `sim vm setup` does it';
    expect(await machines()).toEqual({ exitCode: 0, ok: true, detail: none });
    const { binary } = pretendSetUp(folder, 'plugin');
    const identity = identityOfPretended('plugin').slice(0, 16);
    const detail = `backend plugin, QEMU 10.0.2, identity ${identity}`;
    expect(await machines()).toEqual({ exitCode: 0, ok: true, detail });
    writeFileSync(binary, elfWithBuildId(OTHER_ID));
    const another = expect.stringContaining('another build') as string;
    expect(await machines()).toEqual({ exitCode: 4, ok: false, detail: another });
  });
});

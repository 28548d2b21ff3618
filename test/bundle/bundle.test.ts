import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { writeAtomically } from '../../cli/atomic-write.ts';
import { openBundle, packBundle } from '../../cli/bundle.ts';
import { packZip, sha256Hex, unpackZip, type ZipMember } from '../../cli/zip.ts';
import {
  decodeCanonical,
  draw32,
  encodeCanonical,
  encodeManifest,
  decodeManifest,
  SimError,
  streamKey,
  type Manifest,
} from '../../sim/index.ts';
import { failure } from '../support/failure.ts';
import { bundleParts, bundleScenario, sampleBundle } from './parts.ts';

/** The members of the sample, changed and packed again with a right checksum. */
function repacked(change: (members: ZipMember[]) => ZipMember[]): Uint8Array {
  return packZip(change(unpackZip(sampleBundle())));
}

/** Replaces a member, and its record in the manifest. */
function replaced(name: string, bytes: Uint8Array): Uint8Array {
  const parts = unpackZip(sampleBundle());
  const digest = sha256Hex(bytes);
  return packZip(
    parts.map((part) => {
      if (part.name === name) return { name, bytes };
      if (part.name !== 'manifest.cbor') return part;
      const manifest = decodeManifest(part.bytes);
      const members = manifest.members.map((record) => {
        return record.name === name ? { name, bytes: bytes.length, sha256: digest } : record;
      });
      return { name: 'manifest.cbor', bytes: encodeManifest({ ...manifest, members }) };
    }),
  );
}

function manifestWith(change: (manifest: Manifest) => Manifest): Uint8Array {
  return repacked((members) =>
    members.map((member) => {
      if (member.name !== 'manifest.cbor') return member;
      const bytes = encodeManifest(change(decodeManifest(member.bytes)));
      return { name: member.name, bytes };
    }),
  );
}

describe('a bundle', () => {
  it('FB-53: holds its members in the fixed order, and any zip tool reads it', () => {
    const names = unpackZip(sampleBundle()).map(({ name }) => name);
    const image = bundleScenario().world.nodes[0]?.guest.image ?? '';
    expect(names).toEqual([
      'manifest.cbor',
      'scenario.cbor',
      'plan.json',
      'schedule.bin',
      'events.bin',
      'fingerprints.bin',
      `guests/${image}.wasm`,
      'spec/sample.toml',
      'spec/up/_/_hidden',
      'env.json',
      'replay.sh',
    ]);
    const other = unzipSync(sampleBundle());
    expect(Object.keys(other)).toEqual(names);
    for (const { name, bytes } of unpackZip(sampleBundle())) {
      expect(Buffer.compare(other[name] as Uint8Array, bytes)).toBe(0);
    }
  });

  it('equal runs give equal bytes, and their stamps are zero', () => {
    const file = Buffer.from(sampleBundle());
    expect(file.compare(sampleBundle())).toBe(0);
    expect(file.readUInt16LE(10)).toBe(0);
    expect(file.readUInt16LE(12)).toBe(0x21);
  });

  it('CR-102: gives back all that it was made of', () => {
    const bundle = openBundle(sampleBundle());
    const parts = bundleParts();
    expect(bundle.scenario).toStrictEqual(parts.scenario);
    expect(Buffer.compare(bundle.schedule, parts.schedule)).toBe(0);
    expect(Buffer.compare(bundle.events, parts.events)).toBe(0);
    expect(bundle.fingerprints).toStrictEqual(parts.fingerprints);
    expect(bundle.manifest.outcome).toStrictEqual(parts.manifest.outcome);
    expect([...bundle.images.keys()]).toEqual([...parts.images.keys()]);
    expect(bundle.sources.map(({ name }) => name)).toEqual(['sample.toml', 'up/_/_hidden']);
    expect(bundle.plan).toBe(parts.plan);
    expect(bundle.checkpoint()).toBe(null);
  });

  it('a thin bundle leaves the images out', () => {
    const parts = bundleParts();
    const bundle = openBundle(
      packBundle({ ...parts, manifest: { ...parts.manifest, thin: true } }),
    );
    expect([bundle.manifest.thin, bundle.images.size]).toEqual([true, 0]);
  });

  it('FB-57: a bundle without plan.json is valid', () => {
    const bundle = openBundle(
      repacked((members) =>
        members
          .filter(({ name }) => name !== 'plan.json')
          .map((member) => {
            if (member.name !== 'manifest.cbor') return member;
            const manifest = decodeManifest(member.bytes);
            const kept = manifest.members.filter(({ name }) => name !== 'plan.json');
            return { name: member.name, bytes: encodeManifest({ ...manifest, members: kept }) };
          }),
      ),
    );
    expect(bundle.plan).toBe(null);
  });

  it('FB-55: an unknown version is refused, never guessed at', () => {
    const newer = repacked((members) =>
      members.map((member) => {
        if (member.name !== 'manifest.cbor') return member;
        const fields = decodeCanonical(member.bytes) as Record<string, never>;
        return { name: member.name, bytes: encodeCanonical({ ...fields, schema_version: 2 }) };
      }),
    );
    const error = failure(() => openBundle(newer));
    expect([error.code, error.message]).toEqual([
      'bundle/version',
      'manifest has schema_version 2, this reader knows 1',
    ]);
  });
});

describe('a damaged bundle', () => {
  it('is found wherever it is cut', () => {
    const whole = sampleBundle();
    for (let length = 0; length < whole.length; length++) {
      const error = failure(() => openBundle(whole.subarray(0, length)));
      expect([error.code, error.exitCode]).toEqual(['bundle/zip', 5]);
    }
  });

  it('is found whichever byte is flipped', () => {
    const whole = sampleBundle();
    for (let at = 0; at < whole.length; at++) {
      const flipped = whole.slice();
      flipped[at] = (flipped[at] as number) ^ (1 << (at & 7));
      expect(failure(() => openBundle(flipped)).exitCode).toBe(5);
    }
  });

  it('is found when bytes follow', () => {
    const longer = Buffer.concat([sampleBundle(), Buffer.alloc(1)]);
    expect(failure(() => openBundle(longer)).code).toBe('bundle/zip');
  });
});

describe('a hostile bundle, whose checksum is right', () => {
  const other = (name: string): ZipMember => ({ name, bytes: Buffer.from('x') });

  it.each<[string, string, (members: ZipMember[]) => ZipMember[]]>([
    ['a name that leaves the folder', 'bundle/zip', (m) => [...m, other('../evil')]],
    ['an absolute name', 'bundle/zip', (m) => [...m, other('/etc/passwd')]],
    ['a climbing name in spec', 'bundle/zip', (m) => [...m, other('spec/../../evil')]],
    ['a name with a backslash', 'bundle/zip', (m) => [...m, other('spec/a\\b')]],
    ['an unknown member', 'bundle/zip', (m) => [...m, other('setup.exe')]],
    ['another order', 'bundle/member', (m) => [m[1], m[0], ...m.slice(2)] as ZipMember[]],
    ['a member twice', 'bundle/member', (m) => [...m, m.at(-1) as ZipMember]],
    ['no manifest', 'bundle/member', (m) => m.slice(1)],
    ['no scenario', 'bundle/member', (m) => m.filter(({ name }) => name !== 'scenario.cbor')],
    [
      'a member that is not listed',
      'bundle/content',
      (m) => m.filter((p) => p.name !== 'env.json'),
    ],
    [
      'a member of another content',
      'bundle/content',
      (m) => m.map((p) => (p.name === 'env.json' ? other('env.json') : p)),
    ],
  ])('%s is refused', (_name, code, change) => {
    const error = failure(() => openBundle(repacked(change)));
    expect([error.code, error.exitCode]).toEqual([code, 5]);
  });

  it('logs of another run are refused', () => {
    const { events } = bundleParts(50);
    const error = failure(() => openBundle(replaced('events.bin', events)));
    expect(error.message).toBe(
      'the bundle is refused: its logs are not those that its manifest names',
    );
  });

  it('a log that is cut between frames or within is refused', () => {
    const { schedule } = bundleParts();
    for (const length of [0, 10, schedule.length - 1]) {
      const error = failure(() => openBundle(replaced('schedule.bin', schedule.slice(0, length))));
      expect(error.code).toMatch(/^bundle\/(content|log)$/);
    }
  });

  it.each<[string, (manifest: Manifest) => Manifest]>([
    ['another seed', (m) => ({ ...m, seed: 43 })],
    ['another scenario', (m) => ({ ...m, ids: { ...m.ids, world: '0'.repeat(64) } })],
    ['more events', (m) => ({ ...m, outcome: { ...m.outcome, eventCount: 10_000 } })],
    ['a savepoint without proof', (m) => ({ ...m, kind: 'savepoint' })],
    [
      'a savepoint without checkpoint',
      (m) => ({
        ...m,
        kind: 'savepoint',
        savepoint: {
          selector: 'x',
          label: '',
          frontierNs: 0,
          quanta: 5,
          decisionCount: 200,
          eventCount: 200,
          decisionChain: m.outcome.decisionChain,
          eventChain: m.outcome.eventChain,
          checkpoint: '0'.repeat(64),
        },
      }),
    ],
  ])('a manifest that claims %s is refused', (_name, change) => {
    const error = failure(() => openBundle(manifestWith(change)));
    expect(error.code).toMatch(/^(bundle|scenario)\//);
  });

  it('a bomb is refused before it is inflated', () => {
    const bomb = repacked((members) =>
      members.map((member) => {
        return member.name === 'env.json'
          ? { name: 'env.json', bytes: Buffer.alloc(999_999) }
          : member;
      }),
    );
    // The packer itself stores what would inflate too much.
    expect(bomb.length).toBeGreaterThan(999_999);
    const error = failure(() => openBundle(bomb));
    expect(error.code).toBe('bundle/content');
  });

  it('gives a coded error or the same content for random changes under a right checksum', () => {
    const whole = Buffer.from(sampleBundle());
    const key = streamKey(9, 'fuzz');
    for (let round = 0; round < 3_000; round++) {
      const changed = Buffer.from(whole);
      for (let flip = 0; flip <= draw32(key, round, 0) % 3; flip++) {
        const at = draw32(key, round, 10 + flip) % (changed.length - 64);
        changed[at] = draw32(key, round, 20 + flip) & 255;
      }
      expectRefusedOrSame(resealed(changed), whole);
    }
  });
});

/** Puts the right digest at the end. */
function resealed(file: Buffer): Buffer {
  const body = file.subarray(0, file.length - 64);
  return Buffer.concat([body, Buffer.from(sha256Hex(body), 'latin1')]);
}

function expectRefusedOrSame(file: Buffer, whole: Buffer): void {
  try {
    openBundle(file);
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    expect((error as SimError).exitCode).toBe(5);
    return;
  }
  expect(unpackZip(file)).toStrictEqual(unpackZip(whole));
}

describe('writing', () => {
  it('leaves the whole file under its name', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
    const path = join(folder, 'deep', 'run.athanor');
    writeAtomically(path, sampleBundle());
    expect(Buffer.compare(readFileSync(path), sampleBundle())).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { reportHtml, type ReportSource } from '../../report/index.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { packZip, sha256Hex, unpackZip } from '../../cli/zip.ts';
import { decodeManifest, encodeManifest, trafficResult } from '../../sim/index.ts';
import { SimFolder } from '../cli/sim.ts';

const SOURCE: ReportSource = {
  title: 'pair',
  bundle: 'pair.athanor',
  seed: 7,
  verdict: 'fail',
  reason: 'property',
  endNs: 1_000,
  engine: 'athanor 0.1.0',
  scenarioId: '00ff',
  replay: 'sim replay pair.athanor',
  nodes: ['a', 'b'].map((name) => ({ name, guest: 'echo', ended: 'running', lives: 1 })),
  properties: [],
  rows: [{ atNs: 5, node: 0, kind: 'stdout', text: '</script><b>not markup</b>' }],
  missing: null,
  plan: null,
  decisions: [],
  events: [],
};

function dataOf(source: ReportSource): Record<string, unknown> {
  const html = reportHtml(source, packageRoot());
  const match = /<script id="data" type="application\/json">(.*?)<\/script>/s.exec(html);
  return JSON.parse(match?.[1] ?? 'null') as Record<string, unknown>;
}

const event = (kind: string, guest: number, atNs: number, input: number, peer: number) => {
  return { index: 0, kind, guest, atNs, input, result: trafficResult(peer, 10) };
};

describe('the report of a run', () => {
  it('FB-63 is one file that asks no network', () => {
    const html = reportHtml(SOURCE, packageRoot());
    expect(html).not.toMatch(/<(script|link|img|iframe)[^>]*(src|href)="(?!data:)/);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain('<!-- part:');
  });

  it('is ASCII, and says what the run said', () => {
    const text = 'ä → \u{1f600}';
    const rows = [{ atNs: 5, node: 0, kind: 'stdout', text }];
    const said = { ...SOURCE, title: text, rows };
    expect(reportHtml(said, packageRoot())).toMatch(/^[\0-\x7f]*$/);
    expect(reportHtml(said, packageRoot())).toContain('<title>&#228; &#8594; &#128512; seed');
    expect(dataOf(said)).toMatchObject({ title: text, rows: { text: [text] } });
  });

  it('never takes the text of a run for markup', () => {
    expect(reportHtml(SOURCE, packageRoot())).not.toContain('</script><b>');
    expect(dataOf(SOURCE)['rows']).toMatchObject({ text: ['</script><b>not markup</b>'] });
  });

  it('pairs what was sent with what arrived, equal packets in order, and leaves lost ones open', () => {
    const events = [
      event('net/send', 0, 10, 99, 1),
      event('net/send', 0, 20, 99, 1),
      event('net/send', 1, 25, 99, 0),
      event('net/deliver', 1, 30, 99, 0),
      event('net/deliver', 1, 40, 99, 0),
    ];
    expect(dataOf({ ...SOURCE, events })['messages']).toEqual({
      from: [0, 0, 1],
      to: [1, 1, 0],
      since: [10, 10, 5],
      took: [20, 20, -1],
      bytes: [10, 10, 10],
    });
  });
});

interface Trace {
  readonly rows: readonly { readonly kind: string; readonly text: string }[];
}

/** The same bundle with another trace, or none. */
function withTrace(file: Uint8Array, trace: string | null): Uint8Array {
  const bytes = trace === null ? null : Buffer.from(trace);
  const members = unpackZip(file).flatMap((member) => {
    if (member.name !== 'trace.json') return [member];
    return bytes === null ? [] : [{ name: member.name, bytes }];
  });
  const sealed = members.map((member) => {
    if (member.name !== 'manifest.cbor') return member;
    const manifest = decodeManifest(member.bytes);
    const records = manifest.members.flatMap((record) => {
      if (record.name !== 'trace.json') return [record];
      if (bytes === null) return [];
      return [{ name: record.name, bytes: bytes.length, sha256: sha256Hex(bytes) }];
    });
    return { name: member.name, bytes: encodeManifest({ ...manifest, members: records }) };
  });
  return packZip(sealed);
}

describe('sim report', () => {
  it('FB-57 FB-63 writes the page of a bundle, with its plan, beside it', async () => {
    const folder = new SimFolder();
    folder.write(
      's.sim.ts',
      `import { assert, choose, test } from 'athanor/spec';
       test('t', () => { console.log('hello'); assert(choose('x', [1, 2]) === 1); });`,
    );
    const suite = await folder.sim(['test', 's.sim.ts', '--seed', '1', '--format', 'jsonl']);
    const bundle = suite.records().find(({ outcome }) => outcome === 'fail')?.['bundle'] as string;
    const { exitCode, stderr } = await folder.sim(['report', bundle, '--out', 'run.html']);
    expect([exitCode, stderr]).toEqual([0, '']);
    const html = folder.read('run.html').toString();
    expect(html).toContain('"hello"');
    expect(html).toContain('"verdict":"fail"');
    expect(html).toContain('"spec_path"');
  });

  it('FB-53 FB-63 shows the trace that the bundle has, without a run, and refuses one that is none', async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'hello', '--seed', '1', '--out', 'run.athanor']);
    const trace = (await folder.sim(['inspect', 'run.athanor', 'trace.json'])).stdout;
    expect(JSON.parse(trace)).toMatchObject({ schema_version: 1 });
    const change = (from: string, to: string): void => {
      folder.write('other.athanor', withTrace(folder.read('run.athanor'), trace.replace(from, to)));
    };
    const text =
      (JSON.parse(trace) as Trace).rows.find(({ kind }) => kind === 'stdout')?.text ?? '';
    expect(text).not.toBe('');
    change(text, 'never written by this run');
    await folder.sim(['report', 'other.athanor', '--out', 'run.html']);
    expect(folder.read('run.html').toString()).toContain('"never written by this run"');
    for (const [from, to] of [
      ['"schema_version":1', '"schema_version":2'],
      ['"at_ns":0', '"at_ns":null'],
      ['"rows":[', '"rows":['.repeat(2)],
      [trace, '[]'],
    ] as const) {
      change(from, to);
      const { exitCode, stderr } = await folder.sim([
        'report',
        'other.athanor',
        '--out',
        'no.html',
      ]);
      expect([exitCode, stderr.split(':')[0]]).toEqual([5, 'error bundle/trace']);
      expect(() => folder.read('no.html')).toThrow();
    }
  });

  it('repeats the run for its lines where a bundle has no trace', async () => {
    const folder = new SimFolder();
    await folder.sim(['run', 'hello', '--seed', '1', '--out', 'run.athanor']);
    folder.write('other.athanor', withTrace(folder.read('run.athanor'), null));
    await folder.sim(['report', 'run.athanor', '--out', 'a.html']);
    await folder.sim(['report', 'other.athanor', '--out', 'b.html']);
    const page = (name: string): string => folder.read(name).toString();
    expect(page('b.html').replaceAll('other.athanor', 'run.athanor')).toBe(page('a.html'));
  });

  it('refuses what is no bundle and leaves no file', async () => {
    const folder = new SimFolder();
    folder.write('bad.athanor', 'PK no zip');
    const { exitCode } = await folder.sim(['report', 'bad.athanor', '--out', 'run.html']);
    expect(exitCode).toBe(5);
    expect(() => folder.read('run.html')).toThrow();
  });
});

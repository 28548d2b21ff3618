import { describe, expect, it } from 'vitest';
import { reportHtml, type ReportSource } from '../../report/index.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { trafficResult } from '../../sim/index.ts';
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
  nodes: ['a', 'b'],
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
      sent: [10, 20, 25],
      arrived: [30, 40, -1],
      bytes: [10, 10, 10],
    });
  });
});

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

  it('refuses what is no bundle and leaves no file', async () => {
    const folder = new SimFolder();
    folder.write('bad.athanor', 'PK no zip');
    const { exitCode } = await folder.sim(['report', 'bad.athanor', '--out', 'run.html']);
    expect(exitCode).toBe(5);
    expect(() => folder.read('run.html')).toThrow();
  });
});

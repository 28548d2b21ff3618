import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportHtml, type ReportSource } from '../../report/index.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { trafficResult, type LoggedEvent } from '../../sim/index.ts';

/** Debian's Chromium; it is installed where it is missing, as root. */
const CHROMIUM = '/usr/bin/chromium';

const folder = mkdtempSync(join(tmpdir(), 'report-'));
let browser: Browser;

beforeAll(async () => {
  if (!existsSync(CHROMIUM)) {
    const options = { stdio: 'ignore' } as const;
    execFileSync('apt-get', ['update', '-q'], options);
    execFileSync(
      'apt-get',
      ['install', '-y', '-q', '--no-install-recommends', 'chromium'],
      options,
    );
  }
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet],
  });
}, 300_000);

afterAll(async () => {
  await browser.close();
});

/** A run of six nodes in which each event is a packet that is sent or arrives, or was lost. */
function bigRun(events: number): ReportSource {
  const log: LoggedEvent[] = [];
  for (let index = 0; log.length < events; index++) {
    const [from, to, atNs] = [index % 6, (index + 1 + (index % 5)) % 6, index * 20_000];
    log.push({
      index: log.length,
      kind: 'net/send',
      guest: from,
      atNs,
      input: index,
      result: trafficResult(to, 64),
    });
    if (index % 10 === 0) continue;
    const arrival = { kind: 'net/deliver', guest: to, atNs: atNs + 5_000_000, input: index };
    log.push({ index: log.length, ...arrival, result: trafficResult(from, 64) });
  }
  const endNs = log.length * 11_000;
  return {
    title: 'big',
    bundle: 'big.athanor',
    seed: 1,
    verdict: 'fail',
    reason: 'property',
    endNs,
    engine: 'athanor',
    scenarioId: '00ff',
    replay: 'sim replay big.athanor',
    nodes: ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'],
    properties: [{ name: 'holds', kind: 'never', verdict: 'fail', detail: 'it did not', atNs: 9 }],
    rows: Array.from({ length: 20_000 }, (_, row) => {
      return { atNs: row * 50_000, node: row % 6, kind: 'stdout', text: `line ${row}` };
    }),
    missing: null,
    plan: { spec_path: 'big.sim.ts', tests: [], totals: { instances: 3, estimated: false } },
    decisions: Array.from({ length: 50_000 }, (_, index) => {
      const at = { index, stream: `link/n1/n2/${index % 4}`, ordinal: index, atNs: index * 20_000 };
      return {
        ...at,
        arity: 2,
        choice: index % 2,
        door: index % 100 === 0 ? 'leaf' : 'seeded',
      } as const;
    }),
    events: log,
  };
}

async function open(
  source: ReportSource,
): Promise<{ page: Page; errors: string[]; asked: string[] }> {
  const path = join(folder, `${source.title}.html`);
  writeFileSync(path, reportHtml(source, packageRoot()));
  const page = await browser.newPage({ viewport: { width: 1_400, height: 1_000 } });
  const errors: string[] = [];
  const asked: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector('body[data-painted-ms]');
  return { page, errors, asked };
}

describe('the page of a report in a browser', () => {
  it('FB-63 FB-64 shows a run of 100,000 events, zooms, filters, and turns to the plan', async () => {
    const { page, errors, asked } = await open(bigRun(100_000));
    expect(await page.textContent('h1')).toBe('failbig, seed 1');
    expect(await page.textContent('#properties')).toContain('it did not');
    const box = await page.locator('#timeline').boundingBox();
    await page.mouse.move((box?.x ?? 0) + 500, (box?.y ?? 0) + 100);
    const before = await page.locator('#console .row').first().textContent();
    for (let turn = 0; turn < 10; turn++) await page.mouse.wheel(0, -400);
    await expect.poll(() => page.locator('#console .row').first().textContent()).not.toBe(before);
    await page.fill('#filter', 'line 1');
    await page.selectOption('#door', { label: 'leaf' });
    await expect
      .poll(() => page.locator('#decisions .row').first().textContent())
      .toContain('by leaf');
    await page.click('[data-tab=plan]');
    expect(await page.isVisible('#plan')).toBe(true);
    expect(await page.isVisible('#timeline')).toBe(false);
    expect(await page.textContent('#plan')).toContain('Total: 3 plan instance(s)');
    await page.click('[data-tab=trace]');
    expect(await page.isVisible('#timeline')).toBe(true);
    expect(errors).toEqual([]);
    expect(asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
    await page.close();
  });

  it('FB-57 says when there is no plan, and shows a run in which nothing happened', async () => {
    const empty = {
      ...bigRun(0),
      title: 'empty',
      plan: null,
      rows: [],
      decisions: [],
      events: [],
      endNs: 0,
    };
    const { page, errors } = await open(empty);
    await page.click('[data-tab=plan]');
    expect(await page.textContent('#plan')).toContain('no plan data');
    expect(errors).toEqual([]);
    await page.close();
  });
});

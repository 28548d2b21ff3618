import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium } from '../../bench/chromium.ts';
import { reportHtml, type ReportSource } from '../../report/index.ts';
import { packageRoot } from '../../scenarios/index.ts';
import { trafficResult, type LoggedEvent } from '../../sim/index.ts';

/** Pages have as long as they need: nothing here is about time. */
const PATIENCE = { timeout: 60_000 };

const folder = mkdtempSync(join(tmpdir(), 'report-'));
let browser: Browser;

/** Chromium is installed where it is missing, as root. */
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
  browser = await launchChromium();
}, 300_000);

afterAll(async () => {
  await browser.close();
});

const PLAN = {
  spec_path: 'big.sim.ts',
  seed: 1,
  leaf: {
    test: 'test_big',
    index: 1,
    title: 'test_big [leaf 1] retries=5',
    axes: [{ name: 'pool', value: 0 }],
  },
  tests: [
    {
      name: 'test_big',
      kind: 'fault_matrix',
      instances: 2,
      compositions: [
        { kind: 'choose', axes: [{ name: 'retries', values: ['3', '5'] }] },
        { kind: 'choose', axes: [{ name: 'pool', values: ['one', 'two'] }] },
      ],
      faults: ['db_down'],
      expect: ['holds'],
      timeout: '10s',
    },
    { name: 'test_other', kind: 'def', instances: 1, compositions: [], faults: [] },
  ],
  totals: { instances: 3, estimated: false },
  coverage: {
    edges: [
      { from: 'api', to: 'db', fault_tests: ['test_big'] },
      { from: 'api', to: 'cache', fault_tests: [] },
    ],
  },
};

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
    nodes: ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'].map((name) => {
      return { name, guest: 'raft', ended: 'running', lives: 1 };
    }),
    properties: [
      { name: 'calm', kind: 'always', verdict: 'pass', detail: 'it was', atNs: null },
      { name: 'holds', kind: 'never', verdict: 'fail', detail: 'it did not', atNs: 500_000_000 },
    ],
    rows: Array.from({ length: 20_000 }, (_, row) => {
      return { atNs: row * 50_000, node: row % 6, kind: 'stdout', text: `line ${row}` };
    }),
    missing: null,
    plan: PLAN,
    decisions: Array.from({ length: 50_000 }, (_, index) => {
      const stream = index === 0 ? 'node/test/choose/retries' : `link/n1/n2/${index % 4}`;
      const at = { index, stream, ordinal: index, atNs: index * 20_000 };
      return {
        ...at,
        arity: 2,
        choice: index === 0 ? 1 : index % 2,
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
  it('FB-63 shows what failed and the moment that decided it at first sight', async () => {
    const { page, errors, asked } = await open(bigRun(100_000));
    expect(await page.textContent('h1')).toBe('failbig, seed 1');
    const first = page.locator('#properties tr').first();
    expect(await first.textContent()).toBe('failholdsneverat 500msit did not');
    expect(await first.getAttribute('class')).toBe('fail');
    expect(await page.textContent('#console .focused')).toBe('0.500000s n5    line 10000');
    expect(await page.textContent('#sight')).toMatch(/^49\d\.\d+ms – 50\d\.\d+ms/);
    const timeline = await page.locator('#timeline').boundingBox();
    expect((timeline?.y ?? 1_000) + 100).toBeLessThan(1_000);
    expect(errors).toEqual([]);
    expect(asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
    await page.close();
  });

  it('FB-63 zooms, moves and filters 100,000 events', async () => {
    const { page, errors } = await open(bigRun(100_000));
    await page.click('#whole');
    await expect.poll(() => page.textContent('#console-count'), PATIENCE).toBe('20 000');
    const box = await page.locator('#timeline').boundingBox();
    await page.mouse.move((box?.x ?? 0) + 500, (box?.y ?? 0) + 100);
    const before = await page.locator('#console .row').first().textContent();
    for (let turn = 0; turn < 10; turn++) await page.mouse.wheel(0, -400);
    await expect
      .poll(() => page.locator('#console .row').first().textContent(), PATIENCE)
      .not.toBe(before);
    await page.fill('#filter', 'line');
    await page.selectOption('#door', { label: 'leaf' });
    await expect
      .poll(() => page.locator('#decisions .row').first().textContent(), PATIENCE)
      .toContain('leaf');
    await page.selectOption('#door', { label: 'all but seeded' });
    await expect
      .poll(() => page.textContent('#decisions-count'), PATIENCE)
      .toMatch(/^\d+ of [\d ]+$/);
    await page.locator('#console .row').first().click();
    await expect.poll(() => page.locator('#console .focused').count(), PATIENCE).toBe(1);
    expect(errors).toEqual([]);
    await page.close();
  });

  it('FB-63 shows tests with their axes, what they must hold, and covered and open edges', async () => {
    const { page, errors } = await open(bigRun(1_000));
    await page.click('[data-tab=plan]');
    expect(await page.textContent('#plan')).toContain('3 plan instance(s)');
    expect(await page.textContent('.test.own h3')).toBe('test_big fault_matrix × 2');
    expect(await page.locator('.chip.chosen').allTextContents()).toEqual(['5', 'one']);
    expect(await page.locator('.covered').allTextContents()).toEqual(['✓']);
    expect(await page.textContent('tr:has(.gap)')).toBe('⚠api → cacheno fault test');
    expect(errors).toEqual([]);
    await page.close();
  });

  it('FB-64 turns from the trace of a leaf to its plan and back, by mouse and by key', async () => {
    const { page, errors } = await open(bigRun(1_000));
    const sides = async (): Promise<readonly boolean[]> => {
      return [await page.isVisible('#timeline'), await page.isVisible('#plan')];
    };
    expect(await page.textContent('#leaf')).toBe('test_big [leaf 1] retries=5');
    expect(await sides()).toEqual([true, false]);
    await page.click('[data-tab=plan]');
    expect(await sides()).toEqual([false, true]);
    expect(await page.textContent('.test.own p')).toContain('leaf 1 of 2 — fail');
    await page.click('.test.own button');
    expect(await sides()).toEqual([true, false]);
    await page.focus('#tab-trace');
    await page.keyboard.press('ArrowRight');
    expect(await sides()).toEqual([false, true]);
    expect(await page.getAttribute('#tab-plan', 'aria-selected')).toBe('true');
    await page.keyboard.press('ArrowRight');
    expect(await sides()).toEqual([true, false]);
    expect(errors).toEqual([]);
    await page.close();
  });

  it('is led by keys: the whole run, the deciding moment, closer, along, and dark', async () => {
    const { page, errors } = await open(bigRun(10_000));
    await page.focus('#timeline');
    const sight = (): Promise<string | null> => page.textContent('#sight');
    await page.keyboard.press('0');
    await expect.poll(sight, PATIENCE).toMatch(/^0 – 110\.011ms/);
    await page.keyboard.press('+');
    await expect.poll(sight, PATIENCE).not.toMatch(/^0 – 110\.011ms/);
    const near = await sight();
    await page.keyboard.press('ArrowRight');
    await expect.poll(sight, PATIENCE).not.toBe(near);
    const dark = (): Promise<string | null> => page.getAttribute('html', 'data-theme');
    expect(await dark()).toBe('light');
    await page.keyboard.press('t');
    expect(await dark()).toBe('dark');
    expect(await page.textContent('#theme')).toBe('Colours: dark');
    await page.focus('#console');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await page.locator('#console .focused').count()).toBe(1);
    expect(errors).toEqual([]);
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

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { chromiumMissing, launchChromium } from './chromium.ts';
import { median, type Benchmark, type Figure } from './harness.ts';
import { packagePath } from './paths.ts';
import { runNode, runSim } from './processes.ts';

const ROUNDS = 3;
/** Operations of the client of `raft` that make a run of just above 100,000 events. */
const OPERATIONS = 240;
const FRAMES = 120;
/** Says when it is on the screen in the way that a report does. */
const EMPTY_PAGE = `<!doctype html><title>empty</title><body>empty<script>requestAnimationFrame(() => {
  document.body.dataset.paintedMs = String(Math.round(performance.now()));
})</script>`;

/** A report of a run of 100,000 events: written, painted, zoomed and moved in a real browser. */
export const reportBenchmark: Benchmark = {
  name: 'report',
  missing: chromiumMissing,
  async measure(progress): Promise<readonly Figure[]> {
    const folder = mkdtempSync(join(tmpdir(), 'bench-report-'));
    try {
      progress('recording');
      const bundle = join(folder, 'large.athanor');
      await record(folder, bundle);
      const html = join(folder, 'large.html');
      const emptyPage = join(folder, 'empty.html');
      writeFileSync(emptyPage, EMPTY_PAGE);
      const written: number[] = [];
      const processor: number[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        progress(`writing, round ${round} of ${ROUNDS}`);
        const start = performance.now();
        const usedMs = await write(bundle, html, join(folder, 'used'));
        if (round === 0) continue;
        written.push(performance.now() - start);
        processor.push(usedMs);
      }
      return [
        {
          name: 'written',
          value: median(written) / 1_000,
          unit: 's',
          bar: { kind: 'at-most', value: 2 },
          note: `sim report of ${eventsOf(html)} events, start included, median of ${ROUNDS}`,
        },
        {
          name: 'written, processor',
          value: median(processor) / 1_000,
          unit: 's',
          bar: null,
          note: 'all threads of that process',
        },
        ...(await look(html, emptyPage, progress)),
      ];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

async function record(folder: string, bundle: string): Promise<void> {
  const text = readFileSync(packagePath('scenarios/builtin/raft.toml'), 'utf8')
    .replace('"--count", "60"', `"--count", "${OPERATIONS}"`)
    .replace('virtual_time = "300s"', 'virtual_time = "400s"');
  const scenario = join(folder, 'large.toml');
  writeFileSync(scenario, text);
  const store = ['--store', join(folder, 'store')];
  await runSim(['run', scenario, '--seed', '3', '--out', bundle, '--quiet', ...store]);
}

/** Writes a report in a process of its own; how much of the processors it used, in milliseconds. */
async function write(bundle: string, html: string, used: string): Promise<number> {
  const hook = `import { writeFileSync } from 'node:fs';
    process.on('exit', () => {
      const { user, system } = process.cpuUsage();
      writeFileSync(${JSON.stringify(used)}, String((user + system) / 1000));
    });`;
  const load = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const sim = packagePath('dist/cli/main.js');
  await runNode([...load, sim, 'report', bundle, '--out', html]);
  return Number(readFileSync(used, 'utf8'));
}

function eventsOf(html: string): string {
  return /"eventCount":(\d+)/.exec(readFileSync(html, 'utf8'))?.[1] ?? 'no';
}

/** Opens the page several times, then zooms and moves it as fast as frames come. */
async function look(
  html: string,
  emptyPage: string,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const browser = await launchChromium();
  try {
    const paints: number[] = [];
    const emptyPaints: number[] = [];
    const paintCosts: number[] = [];
    const zooms: Motion[] = [];
    const moves: Motion[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      progress(`looking, round ${round} of ${ROUNDS}`);
      const empty = await open(browser, emptyPage);
      await empty.page.close();
      const { page, session, paintedMs } = await open(browser, html);
      const paintCost = await taskSeconds(session);
      const zoom = await motion(page, session, 'zoom');
      const move = await motion(page, session, 'move');
      await page.close();
      if (round === 0) continue;
      paints.push(paintedMs);
      emptyPaints.push(empty.paintedMs);
      paintCosts.push(paintCost);
      zooms.push(zoom);
      moves.push(move);
    }
    return [
      {
        name: 'first paint of the run',
        value: median(paints) / 1_000,
        unit: 's',
        bar: { kind: 'at-most', value: 1 },
        note: `since the page was asked for, median of ${ROUNDS} pages`,
      },
      {
        name: 'first paint of an empty page',
        value: median(emptyPaints) / 1_000,
        unit: 's',
        bar: null,
        note: 'what the browser takes by itself, in turns with the other',
      },
      {
        name: 'first paint, processor',
        value: median(paintCosts),
        unit: 's',
        bar: null,
        note: 'of the page’s thread',
      },
      ...frameFigures('zoom', zooms),
      ...frameFigures('move', moves),
    ];
  } finally {
    await browser.close();
  }
}

interface OpenPage {
  readonly page: Page;
  readonly session: CDPSession;
  readonly paintedMs: number;
}

async function open(browser: Browser, path: string): Promise<OpenPage> {
  const page = await browser.newPage({ viewport: { width: 1_400, height: 1_000 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector('body[data-painted-ms]');
  const paintedMs = await page.evaluate('Number(document.body.dataset.paintedMs)');
  return { page, session, paintedMs: paintedMs as number };
}

interface Motion {
  readonly framesPerSecond: number;
  readonly processorMs: number;
}

function frameFigures(name: string, motions: readonly Motion[]): readonly Figure[] {
  const cost = median(motions.map(({ processorMs }) => processorMs));
  return [
    {
      name: `frames a second, ${name}`,
      value: median(motions.map(({ framesPerSecond }) => framesPerSecond)),
      unit: '/s',
      bar: { kind: 'at-least', value: 30 },
      note: `${FRAMES} frames, a step in each`,
    },
    {
      name: `a frame, processor, ${name}`,
      value: cost,
      unit: 'ms',
      bar: null,
      note: '33 ms are 30 frames a second',
    },
  ];
}

/** What the page does by itself: a step of the wheel or of the arrow key in each frame. */
const STEPS: Readonly<Record<'zoom' | 'move', string>> = {
  zoom: `canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: frame % 60 < 30 ? -60 : 60,
    clientX: box.left + 500, clientY: box.top + 100, bubbles: true, cancelable: true }))`,
  move: `canvas.dispatchEvent(new KeyboardEvent('keydown', {
    key: frame % 40 < 20 ? 'ArrowRight' : 'ArrowLeft', bubbles: true }))`,
};

async function motion(page: Page, session: CDPSession, kind: 'zoom' | 'move'): Promise<Motion> {
  if (kind === 'move') {
    await page.focus('#timeline');
    for (let step = 0; step < 4; step++) await page.keyboard.press('+');
  }
  const before = await taskSeconds(session);
  const elapsedMs = await page.evaluate(`new Promise((done) => {
    const canvas = document.getElementById('timeline');
    const box = canvas.getBoundingClientRect();
    const start = performance.now();
    let frame = 0;
    const next = () => {
      ${STEPS[kind]};
      if (++frame === ${FRAMES}) done(performance.now() - start);
      else requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  })`);
  const processorMs = ((await taskSeconds(session)) - before) * 1_000;
  return {
    framesPerSecond: (FRAMES * 1_000) / (elapsedMs as number),
    processorMs: processorMs / FRAMES,
  };
}

async function taskSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { reportDocument, type ReportSource } from './report-data.ts';

/** The folder of the page's own parts, relative to the package's root. */
const PAGE_FOLDER = ['report', 'page'];
/** The page's scripts, each of which adds to what those before it share. */
const SCRIPTS = [
  'base.js',
  'head.js',
  'plan.js',
  'sight.js',
  'marks.js',
  'overview.js',
  'timeline.js',
  'tips.js',
  'lists.js',
  'main.js',
];

/** The parts of d3 that the page uses and those that they need, each after what it needs. */
const D3_PARTS = [
  'array',
  'color',
  'dispatch',
  'ease',
  'format',
  'interpolate',
  'time',
  'time-format',
  'timer',
  'selection',
  'drag',
  'transition',
  'scale',
  'zoom',
];

/**
 * One HTML file with everything in it: data, script, style, and what it uses of d3. It asks no network
 * and changes nothing (FB-63). All of it is ASCII, which a browser reads twice as fast as a text with
 * any other character in it. `root` is the folder of this package.
 */
export function reportHtml(source: ReportSource, root: string): string {
  const part = (name: string): string => readFileSync(join(root, ...PAGE_FOLDER, name), 'utf8');
  // The page's script stands in HTML: no text of a run may end it.
  const data = JSON.stringify(reportDocument(source)).replace(/</g, '\\u003c');
  const title = escapeHtml(`${source.title} seed ${source.seed}: ${source.verdict}`);
  const script = d3Scripts() + SCRIPTS.map(part).join('');
  const parts: Readonly<Record<string, string>> = {
    title: `<title>${inHtml(title)}</title>`,
    style: `<style>${inStyle(part('report.css'))}</style>`,
    data: `<script id="data" type="application/json">${inScript(data)}</script>`,
    script: `<script>${inScript(script)}</script>`,
  };
  return inHtml(part('report.html')).replace(/<!-- part: (\w+) -->/g, (_, name: string) => {
    return parts[name] ?? '';
  });
}

function d3Scripts(): string {
  const ofD3 = createRequire(createRequire(import.meta.url).resolve('d3'));
  return D3_PARTS.map((name) => {
    const folder = join(dirname(ofD3.resolve(`d3-${name}`)), '..', 'dist');
    return `${readFileSync(join(folder, `d3-${name}.min.js`), 'utf8')}\n`;
  }).join('');
}

/** Every code unit beyond ASCII in the language's own way. */
function escaped(text: string, escape: (code: number) => string): string {
  return text.replace(/[^\0-\x7f]/g, (character) => escape(character.charCodeAt(0)));
}

/** For scripts and JSON, where such characters stand in strings and remarks only. */
function inScript(text: string): string {
  return escaped(text, (code) => `\\u${code.toString(16).padStart(4, '0')}`);
}

function inStyle(text: string): string {
  return escaped(text, (code) => `\\${code.toString(16)} `);
}

function inHtml(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (character) => `&#${character.codePointAt(0)};`);
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
}

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

/**
 * One HTML file with everything in it: data, script, style, and the d3 library. It asks no network and
 * changes nothing (FB-63). `root` is the folder of this package.
 */
export function reportHtml(source: ReportSource, root: string): string {
  const part = (name: string): string => readFileSync(join(root, ...PAGE_FOLDER, name), 'utf8');
  // The page's script stands in HTML: no text of a run may end it.
  const data = JSON.stringify(reportDocument(source)).replace(/</g, '\\u003c');
  const d3 = readFileSync(join(libraryFolder(), 'dist', 'd3.min.js'), 'utf8');
  const title = escapeHtml(`${source.title} seed ${source.seed}: ${source.verdict}`);
  const parts: Readonly<Record<string, string>> = {
    title: `<title>${title}</title>`,
    style: `<style>${part('report.css')}</style>`,
    d3: `<script>${d3}</script>`,
    data: `<script id="data" type="application/json">${data}</script>`,
    script: `<script>${SCRIPTS.map(part).join('')}</script>`,
  };
  return part('report.html').replace(/<!-- part: (\w+) -->/g, (_, name: string) => {
    return parts[name] ?? '';
  });
}

function libraryFolder(): string {
  const main = createRequire(import.meta.url).resolve('d3');
  return join(dirname(main), '..');
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
}

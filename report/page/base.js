// What all parts of the page of a run share. The document in #data is only read; no network is asked.
globalThis.page = (() => {
  'use strict';
  const run = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);

  /** Columns of numbers take an eighth of the memory, and are searched faster. */
  for (const [columns, names] of [
    [run.rows, ['node']],
    [run.messages, ['from', 'to', 'bytes']],
    [run.decisions, ['stream', 'ordinal', 'arity', 'choice', 'door']],
  ]) {
    for (const name of names) columns[name] = Float64Array.from(columns[name]);
  }
  /** Times stand as how long after the one before. */
  const times = (since) => {
    let atNs = 0;
    return Float64Array.from(since, (ns) => (atNs += ns));
  };
  run.rows.at = times(run.rows.since);
  run.decisions.at = times(run.decisions.since);
  run.messages.sent = times(run.messages.since);
  run.messages.arrived = Float64Array.from(run.messages.took, (ns, index) => {
    return ns < 0 ? -1 : run.messages.sent[index] + ns;
  });
  const endNs = Math.max(1, run.endNs);

  /** In the unit that fits, without zeros that say nothing. */
  function shortTime(ns) {
    if (ns === 0) return '0';
    const [unit, size] = ns < 1e6 ? ['µs', 1e3] : ns < 1e9 ? ['ms', 1e6] : ['s', 1e9];
    return `${(ns / size).toFixed(3).replace(/\.?0+$/, '')}${unit}`;
  }

  /** For columns: one unit for the whole run, so that points stand below points. */
  const [columnUnit, columnSize] = endNs < 1e9 ? ['ms', 1e6] : ['s', 1e9];
  const columnWidth = (endNs / columnSize).toFixed(6).length;
  const columnTime = (ns) => `${(ns / columnSize).toFixed(6).padStart(columnWidth)}${columnUnit}`;

  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
  const nodeName = (node) => (node < 0 ? 'world' : (run.nodes[node]?.name ?? `node ${node}`));

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className !== undefined) made.className = className;
    return made;
  }

  /** The first place in a sorted column at which the value is not below. */
  function lower(column, value) {
    let [low, high] = [0, column.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (column[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Each has at least 4.5 : 1 of contrast on its ground, and none is the red of what failed.
  const NODE_COLOURS = {
    light: ['#0b6b94', '#7a45c0', '#1f7446', '#8a5a00', '#a52d84', '#3a57c4', '#586600', '#5d6470'],
    dark: ['#5cc0e6', '#b99af7', '#5fd18b', '#e0a64f', '#f08fc7', '#8fb0ff', '#bccf4b', '#b4bdc9'],
  };
  const NAMES = ['back', 'ink', 'soft', 'line', 'panel', 'pass', 'fail', 'open', 'focus'];
  const THEMES = ['auto', 'dark', 'light'];
  const colours = {};
  const wantsDark = matchMedia('(prefers-color-scheme: dark)');
  const watchers = [];
  let chosen = 'auto';

  function applyTheme() {
    const theme = chosen !== 'auto' ? chosen : wantsDark.matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = theme;
    const style = getComputedStyle(document.documentElement);
    for (const name of NAMES) {
      colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
    colours.nodes = NODE_COLOURS[theme];
    byId('theme').textContent = `Colours: ${chosen}`;
    for (const watcher of watchers) watcher();
  }
  wantsDark.addEventListener('change', applyTheme);
  byId('theme').onclick = () => {
    chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
    applyTheme();
  };
  applyTheme();

  const nodeColour = (node) => (node < 0 ? colours.soft : colours.nodes[node % 8]);

  const QUIET = new Set(['stdout', 'stderr']);
  const FAULTS = new Set(['crash', 'trap', 'wipe', 'network', 'disk', 'pause', 'plan', 'clock']);

  /** When the verdict was decided, and by what: the first property that does not hold. */
  const bad = run.properties.filter(({ verdict }) => verdict !== 'pass');
  const decided =
    bad.filter(({ atNs }) => atNs !== null).sort((a, b) => a.atNs - b.atNs)[0] ?? null;

  return {
    run,
    byId,
    endNs,
    shortTime,
    columnTime,
    count,
    nodeName,
    nodeColour,
    element,
    lower,
    colours,
    onTheme: (watcher) => watchers.push(watcher),
    QUIET,
    FAULTS,
    decided,
  };
})();

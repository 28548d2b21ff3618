// What the timeline knows of the rows: signs, the lines of each node, and when a node was down.
((page) => {
  'use strict';
  const { run, endNs, QUIET } = page;
  const { at, node, kind } = run.rows;

  page.SIGNS = {
    start: '▶',
    exit: '■',
    trap: '✗',
    crash: '✗',
    restart: '↻',
    pause: '‖',
    network: '↯',
    disk: '⛁',
    marker: '◆',
    wipe: '✗',
    upgrade: '↻',
    clock: '◷',
    plan: '↯',
  };

  /** Rows that are no console lines, and the times of the lines of each node. */
  const marks = [];
  const lines = Array.from({ length: run.nodes.length + 1 }, () => []);
  const downs = [];
  const open = new Map();
  for (let index = 0; index < at.length; index++) {
    if (QUIET.has(kind[index])) {
      lines[node[index] + 1]?.push(index);
      continue;
    }
    marks.push(index);
    if (/^(crash|trap|exit)$/.test(kind[index])) open.set(node[index], at[index]);
    if (/^(start|restart|upgrade)$/.test(kind[index]) && open.has(node[index])) {
      downs.push({ node: node[index], fromNs: open.get(node[index]), toNs: at[index] });
      open.delete(node[index]);
    }
  }
  for (const [of, fromNs] of open) downs.push({ node: of, fromNs, toNs: endNs });

  const timesOf = (indices) => Float64Array.from(indices, (index) => at[index]);
  page.marks = { rows: Int32Array.from(marks), at: timesOf(marks) };
  page.lines = lines.map((rows) => ({ rows: Int32Array.from(rows), at: timesOf(rows) }));
  page.downs = downs;

  /** Decisions that the seed did not make. */
  const seeded = run.doors.indexOf('seeded');
  page.forced = run.decisions.at.filter((_, index) => run.decisions.door[index] !== seeded);

  const { sent, arrived } = run.messages;
  let longest = 0;
  for (let index = 0; index < sent.length; index++) {
    if (arrived[index] >= 0) longest = Math.max(longest, arrived[index] - sent[index]);
  }
  page.longestFlightNs = longest;
})(globalThis.page);

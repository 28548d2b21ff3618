// The page of a run: shows the document in #data. Reads only; asks no network.
(() => {
  'use strict';
  const run = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const nodeColour = (node) => (node < 0 ? colour('--soft') : d3.schemeTableau10[node % 10]);

  const time = (ns) => {
    if (ns < 1e6) return `${(ns / 1e3).toFixed(3)}us`;
    if (ns < 1e9) return `${(ns / 1e6).toFixed(3)}ms`;
    return `${(ns / 1e9).toFixed(6)}s`;
  };
  /** For axes: without zeros that say nothing. */
  const round = (ns) => (ns === 0 ? '0' : time(ns).replace(/\.?0+(?=[a-z])/, ''));
  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
  const nodeName = (node) => (node < 0 ? 'world' : (run.nodes[node] ?? `node ${node}`));

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className !== undefined) made.className = className;
    return made;
  }

  /** The first place in a sorted column at which the value is not below. */
  const lower = (column, value) => d3.bisectLeft(column, value);

  // ---- Head ----

  function showHead() {
    const head = byId('head');
    const title = element('h1');
    title.append(
      element('span', run.verdict, `badge ${run.verdict}`),
      `${run.title}, seed ${run.seed}`,
    );
    const facts = [
      `${time(run.endNs)} of virtual time`,
      `ended: ${run.reason}`,
      `${run.nodes.length} nodes`,
      `${count(run.eventCount)} events`,
      `${count(run.messages.from.length)} messages`,
      `${count(run.decisions.at.length)} decisions`,
      `scenario ${run.scenarioId.slice(0, 12)}`,
      run.engine,
    ];
    head.append(title, element('p', facts.join(' · '), 'facts'));
    if (run.missing !== null) head.append(element('p', run.missing, 'facts'));
    const command = element('div', undefined, 'command');
    const copy = element('button', 'Copy');
    copy.onclick = () => {
      void navigator.clipboard?.writeText(run.replay);
      copy.textContent = 'Copied';
    };
    command.append(element('code', run.replay), copy);
    head.append(command);
  }

  function showProperties() {
    const table = byId('properties');
    if (run.properties.length === 0)
      table.append(element('caption', 'The scenario has no properties.'));
    for (const { name, verdict, kind, detail, atNs } of run.properties) {
      const row = table.insertRow();
      row.append(
        element('td', verdict, verdict),
        element('td', name),
        element('td', kind),
        element('td', atNs === null ? '' : time(atNs)),
        element('td', detail),
      );
    }
  }

  // ---- Plan ----

  function showPlan() {
    const plan = run.plan;
    const panel = byId('plan');
    if (plan === null) {
      panel.append(element('p', 'no plan data'));
      return;
    }
    const lines = [
      `${plan.spec_path ?? ''}  seed ${plan.seed ?? '(unseeded)'}  ${plan.determinism?.level ?? ''}`,
      '',
    ];
    for (const test of plan.tests ?? []) {
      const own = test.name === run.title ? '  ← this run' : '';
      lines.push(
        `${test.name} [${test.kind}] x ${test.estimated ? 'at least ' : ''}${test.instances}${own}`,
      );
      for (const { kind, axes = [] } of test.compositions ?? []) {
        for (const { name, values } of axes) {
          lines.push(
            `   ${kind} ${name}: ${values === null ? '(computed — size unknown)' : `[${values.join(', ')}]`}`,
          );
        }
      }
      for (const fault of test.faults ?? []) {
        lines.push(
          `   fault ${typeof fault === 'string' ? fault : `${fault.name} (${fault.kind}) at ${time(fault.at_ns)}`}`,
        );
      }
    }
    const totals = plan.totals ?? {};
    lines.push(
      '',
      `Total: ${totals.estimated ? 'at least ' : ''}${totals.instances ?? 0} plan instance(s)`,
    );
    panel.append(element('h2', 'Plan'), element('div', lines.join('\n'), 'tree'));
    panel.append(element('h2', 'Coverage'));
    const edges = plan.coverage?.edges ?? [];
    if (edges.length === 0) panel.append(element('p', 'no dependency edges', 'hint'));
    for (const { from, to, fault_tests: tests = [] } of edges) {
      const covered = tests.length > 0;
      const text = `${covered ? '✓' : '⚠'} ${from} → ${to} ${covered ? `(faulted in: ${tests.join(', ')})` : '(no fault test)'}`;
      panel.append(element('div', text, covered ? 'covered' : 'gap'));
    }
  }

  function showTabs() {
    const buttons = [...document.querySelectorAll('#tabs button')];
    for (const button of buttons) {
      button.onclick = () => {
        for (const each of buttons) {
          each.setAttribute('aria-selected', String(each === button));
          byId(each.dataset.tab).hidden = each !== button;
        }
      };
    }
  }

  // ---- Timeline ----

  const LANE = 46;
  const LEFT = 110;
  const TOP = 26;
  /** More messages than this in sight are drawn as how dense they are. */
  const ARROWS_MAX = 3000;
  const QUIET = new Set(['stdout', 'stderr']);
  const FAULTS = new Set(['crash', 'trap', 'wipe', 'network', 'disk', 'pause', 'plan', 'clock']);

  const canvas = byId('timeline');
  const context = canvas.getContext('2d');
  const lanes = run.nodes.length + 1;
  const height = TOP + lanes * LANE + 8;
  const laneOf = (node) => TOP + (node + 1) * LANE + LANE / 2;
  const endNs = Math.max(1, run.endNs);
  let width = 0;
  let transform = d3.zoomIdentity;
  let scale = d3.scaleLinear();
  let queued = false;

  const longest = longestFlight();
  function longestFlight() {
    let found = 0;
    const { sent, arrived } = run.messages;
    for (let index = 0; index < sent.length; index++) {
      if (arrived[index] >= 0) found = Math.max(found, arrived[index] - sent[index]);
    }
    return found;
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    zoom
      .translateExtent([
        [LEFT, 0],
        [width - 12, height],
      ])
      .extent([
        [LEFT, 0],
        [width - 12, height],
      ]);
    queueDraw();
  }

  function queueDraw() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      draw();
    });
  }

  function draw() {
    scale = transform.rescaleX(d3.scaleLinear([0, endNs], [LEFT, width - 12]));
    const [fromNs, toNs] = [scale.invert(LEFT), scale.invert(width - 12)];
    context.clearRect(0, 0, width, height);
    drawGrid();
    context.save();
    context.beginPath();
    context.rect(LEFT - 4, 0, width - LEFT, height);
    context.clip();
    drawMessages(fromNs, toNs);
    drawDecisions(fromNs, toNs);
    drawRows(fromNs, toNs);
    context.restore();
    drawNames();
  }

  function drawGrid() {
    context.strokeStyle = colour('--line');
    context.fillStyle = colour('--soft');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.lineWidth = 1;
    for (const tick of scale.ticks(Math.max(2, Math.floor(width / 140)))) {
      const x = Math.round(scale(tick)) + 0.5;
      context.beginPath();
      context.moveTo(x, TOP - 6);
      context.lineTo(x, height);
      context.stroke();
      context.textAlign = tick === 0 ? 'left' : 'center';
      context.fillText(round(tick), x, 14);
    }
    for (let node = -1; node < run.nodes.length; node++) {
      const y = Math.round(laneOf(node)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(width, y);
      context.stroke();
    }
  }

  function drawNames() {
    context.fillStyle = colour('--back');
    context.fillRect(0, 0, LEFT - 4, height);
    context.textAlign = 'right';
    context.font = '600 12px system-ui, sans-serif';
    for (let node = -1; node < run.nodes.length; node++) {
      context.fillStyle = nodeColour(node);
      context.fillText(nodeName(node), LEFT - 12, laneOf(node) + 4, LEFT - 20);
    }
  }

  function drawMessages(fromNs, toNs) {
    const { from, to, sent, arrived } = run.messages;
    const first = lower(sent, fromNs - longest);
    const last = lower(sent, toNs);
    if (last - first > ARROWS_MAX) {
      drawDensity(first, last);
      return;
    }
    context.lineWidth = 1;
    for (let index = first; index < last; index++) {
      const lost = arrived[index] < 0;
      const x1 = scale(sent[index]);
      const y1 = laneOf(from[index]);
      const y2 = laneOf(to[index]);
      const x2 = lost ? x1 + 10 : scale(arrived[index]);
      context.strokeStyle = lost ? colour('--fail') : colour('--message');
      context.globalAlpha = lost ? 0.9 : 0.55;
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x2, lost ? y1 + (y2 > y1 ? 14 : -14) : y2);
      context.stroke();
      if (lost) cross(x2, y1 + (y2 > y1 ? 14 : -14));
      else arrow(x1, y1, x2, y2);
    }
    context.globalAlpha = 1;
  }

  /** So many messages leave a node in each pixel: a bar on its lane. */
  function drawDensity(first, last) {
    const { from, sent, arrived } = run.messages;
    const columns = Math.max(1, Math.ceil(width - LEFT));
    const all = new Uint32Array(columns * run.nodes.length);
    const lost = new Uint32Array(columns * run.nodes.length);
    const [a, b] = [scale(0), scale(1e9) - scale(0)];
    let most = 1;
    for (let index = first; index < last; index++) {
      const x = Math.floor(a + (sent[index] / 1e9) * b - LEFT);
      if (x < 0 || x >= columns || from[index] < 0) continue;
      const at = from[index] * columns + x;
      most = Math.max(most, ++all[at]);
      if (arrived[index] < 0) lost[at]++;
    }
    const [sentColour, lostColour] = [colour('--message'), colour('--fail')];
    for (let node = 0; node < run.nodes.length; node++) {
      const y = laneOf(node);
      for (const [counts, fill, sign] of [
        [all, sentColour, -1],
        [lost, lostColour, 1],
      ]) {
        context.fillStyle = fill;
        for (let x = 0; x < columns; x++) {
          const value = counts[node * columns + x];
          if (value > 0) {
            const bar = 2 + (LANE / 2 - 6) * (value / most);
            context.fillRect(LEFT + x, sign < 0 ? y - bar : y, 1, bar);
          }
        }
      }
    }
  }

  function arrow(x1, y1, x2, y2) {
    const angle = Math.atan2(y2 - y1, x2 - x1);
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 6 * Math.cos(angle - 0.4), y2 - 6 * Math.sin(angle - 0.4));
    context.moveTo(x2, y2);
    context.lineTo(x2 - 6 * Math.cos(angle + 0.4), y2 - 6 * Math.sin(angle + 0.4));
    context.stroke();
  }

  function cross(x, y) {
    context.beginPath();
    context.moveTo(x - 3, y - 3);
    context.lineTo(x + 3, y + 3);
    context.moveTo(x + 3, y - 3);
    context.lineTo(x - 3, y + 3);
    context.stroke();
  }

  function drawDecisions(fromNs, toNs) {
    const { at, door } = run.decisions;
    const seeded = run.doors.indexOf('seeded');
    const y = laneOf(-1);
    const drawn = new Set();
    for (let index = lower(at, fromNs); index < at.length && at[index] <= toNs; index++) {
      const x = Math.round(scale(at[index]));
      const forced = door[index] !== seeded;
      const key = forced ? -x : x;
      if (drawn.has(key)) continue;
      drawn.add(key);
      context.fillStyle = forced ? colour('--open') : colour('--line');
      context.fillRect(x, y + (forced ? 2 : 4), 1, forced ? 16 : 10);
    }
  }

  const SIGNS = {
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

  function drawRows(fromNs, toNs) {
    const { at, node, kind } = run.rows;
    const [soft, fail] = [colour('--soft'), colour('--fail')];
    const drawn = new Set();
    context.textAlign = 'center';
    for (let index = lower(at, fromNs); index < at.length && at[index] <= toNs; index++) {
      const x = Math.round(scale(at[index]));
      const y = laneOf(node[index]);
      if (QUIET.has(kind[index])) {
        const key = node[index] * 100000 + x;
        if (drawn.has(key)) continue;
        drawn.add(key);
        context.fillStyle = soft;
        context.fillRect(x, y + 8, 1, 6);
        continue;
      }
      context.fillStyle = FAULTS.has(kind[index]) ? fail : nodeColour(node[index]);
      context.font = '700 15px system-ui, sans-serif';
      context.fillText(SIGNS[kind[index]] ?? '·', x, y - 8);
    }
  }

  const zoom = d3
    .zoom()
    .scaleExtent([1, Math.max(2, endNs / 1000)])
    .on('zoom', (event) => {
      transform = event.transform;
      byId('tip').hidden = true;
      queueDraw();
      fillLists();
    });

  function showTip(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const found = nearest(x, y);
    const tip = byId('tip');
    tip.hidden = found === null;
    if (found === null) return;
    tip.textContent = found;
    tip.style.left = `${Math.min(x + 14, width - 300)}px`;
    tip.style.top = `${Math.min(y + 14, height - 40)}px`;
  }

  function nearest(x, y) {
    const around = scale.invert(x + 7) - scale.invert(x - 7);
    const atNs = scale.invert(x);
    const { rows, messages } = run;
    for (
      let index = lower(rows.at, atNs - around / 2);
      index < rows.at.length && rows.at[index] <= atNs + around / 2;
      index++
    ) {
      if (Math.abs(laneOf(rows.node[index]) - y) > LANE / 2) continue;
      if (!QUIET.has(rows.kind[index]) || around < 1e7) {
        return `${time(rows.at[index])} ${nodeName(rows.node[index])} ${rows.kind[index]}: ${rows.text[index]}`;
      }
    }
    const first = lower(messages.sent, atNs - longest - around);
    const last = lower(messages.sent, atNs + around);
    if (last - first > ARROWS_MAX) return null;
    for (let index = first; index < last; index++) {
      const { from, to, sent, arrived, bytes } = messages;
      const end = arrived[index] < 0 ? sent[index] : arrived[index];
      const [x1, y1, x2, y2] = [
        scale(sent[index]),
        laneOf(from[index]),
        scale(end),
        laneOf(to[index]),
      ];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const off = Math.abs((y2 - y1) * x - (x2 - x1) * y + x2 * y1 - y2 * x1) / length;
      const within = y >= Math.min(y1, y2) - 4 && y <= Math.max(y1, y2) + 4;
      if (off < 5 && within) {
        const fate = arrived[index] < 0 ? 'never arrived' : `arrived ${time(arrived[index])}`;
        return `${time(sent[index])} ${nodeName(from[index])} → ${nodeName(to[index])}, ${bytes[index]} bytes, ${fate}`;
      }
    }
    return null;
  }

  function showLegend() {
    const parts = [
      ['→', 'message'],
      ['✗ red', 'lost message, crash'],
      ['bars', 'messages sent (up) and lost (down), where there are too many for arrows'],
      ['↯ ‖ ⛁ ◷', 'fault on network, node, disk, clock'],
      ['ticks below a lane', 'console lines; on the world: decisions'],
    ];
    for (const [sign, meaning] of parts) {
      const item = element('span');
      item.append(element('b', sign), ` ${meaning}`);
      byId('legend').append(item);
    }
  }

  // ---- Lists: only what is in sight is in the page ----

  const ROW = 20;

  function virtualList(box, show) {
    let indices = [];
    const inner = element('div');
    box.append(inner);
    const paint = () => {
      inner.style.height = `${indices.length * ROW}px`;
      const first = Math.floor(box.scrollTop / ROW);
      const last = Math.min(indices.length, first + Math.ceil(box.clientHeight / ROW) + 1);
      const rows = [];
      for (let at = first; at < last; at++) {
        const row = show(indices[at]);
        row.className = 'row';
        row.style.top = `${at * ROW}px`;
        rows.push(row);
      }
      inner.replaceChildren(...rows);
    };
    box.onscroll = paint;
    return (next) => {
      indices = next;
      box.scrollTop = 0;
      paint();
    };
  }

  const setConsole = virtualList(byId('console'), (index) => {
    const { at, node, kind, text } = run.rows;
    const row = element('div');
    const name = element('span', ` ${nodeName(node[index])} `);
    name.style.color = nodeColour(node[index]);
    const what = QUIET.has(kind[index]) ? '' : `[${kind[index]}] `;
    row.append(element('span', time(at[index]), 'time'), name, what + text[index]);
    row.title = text[index];
    row.onclick = () => goTo(at[index]);
    return row;
  });

  const setDecisions = virtualList(byId('decisions'), (index) => {
    const { at, stream, ordinal, arity, choice, door, streams } = run.decisions;
    const row = element('div');
    const address = `${streams[stream[index]]}#${ordinal[index]}=${choice[index]}`;
    row.append(
      element('span', time(at[index]), 'time'),
      ` ${address} of ${arity[index]} by ${run.doors[door[index]]}`,
    );
    row.onclick = () => goTo(at[index]);
    return row;
  });

  function goTo(atNs) {
    const k = Math.max(transform.k, 20);
    const x = d3.scaleLinear([0, endNs], [LEFT, width - 12])(atNs);
    const middle = (LEFT + width) / 2;
    d3.select(canvas).call(zoom.transform, d3.zoomIdentity.translate(middle - k * x, 0).scale(k));
  }

  let filling = 0;
  function fillLists() {
    clearTimeout(filling);
    filling = setTimeout(fillNow, 120);
  }

  function fillNow() {
    const [fromNs, toNs] = [scale.invert(LEFT), scale.invert(width - 12)];
    const wanted = byId('node').value;
    const words = byId('filter').value.toLowerCase();
    const { at, node, text } = run.rows;
    const lines = [];
    for (let index = lower(at, fromNs); index < at.length && at[index] <= toNs; index++) {
      if (wanted !== '' && String(node[index]) !== wanted) continue;
      if (words !== '' && !text[index].toLowerCase().includes(words)) continue;
      lines.push(index);
    }
    setConsole(lines);
    const door = byId('door').value;
    const decisions = [];
    const column = run.decisions.at;
    for (
      let index = lower(column, fromNs);
      index < column.length && column[index] <= toNs;
      index++
    ) {
      if (door === '' || String(run.decisions.door[index]) === door) decisions.push(index);
    }
    setDecisions(decisions);
  }

  function showFilters() {
    const option = (text, value) => new Option(text, value);
    byId('node').append(option('all nodes', ''), option('world', '-1'));
    run.nodes.forEach((name, node) => byId('node').append(option(name, String(node))));
    byId('door').append(option('all doors', ''));
    const used = new Set(run.decisions.door);
    run.doors.forEach(
      (name, door) => used.has(door) && byId('door').append(option(name, String(door))),
    );
    byId('node').onchange = fillNow;
    byId('door').onchange = fillNow;
    byId('filter').oninput = fillLists;
  }

  showHead();
  showProperties();
  showTabs();
  showLegend();
  showFilters();
  showPlan();
  d3.select(canvas)
    .call(zoom)
    .on('mousemove', showTip)
    .on('mouseleave', () => (byId('tip').hidden = true))
    .on('dblclick.zoom', () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity));
  new ResizeObserver(resize).observe(byId('chart'));
  resize();
  draw();
  fillNow();
  // How long until the run was on the screen, for tests of this page.
  requestAnimationFrame(() => {
    document.body.dataset.paintedMs = String(Math.round(performance.now()));
  });
})();

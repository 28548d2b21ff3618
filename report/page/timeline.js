// The lanes: messages, decisions, console lines, faults, and the moment that decided.
((page) => {
  'use strict';
  const { run, byId, lower, colours, sight, nodeColour, nodeName, shortTime, element } = page;
  const { LEFT } = page;
  const LANE = 54;
  const TOP = 34;
  /** More messages than this in sight are drawn as how dense they are. */
  const ARROWS_MAX = 2000;
  /** Up to so many arrows have heads. */
  const HEADS_MAX = 800;
  /** So many signs in sight are drawn at most, and so many texts. */
  const SIGNS_MAX = 3000;
  const TEXTS_MAX = 400;
  /** A column of bars, in pixels. */
  const BIN = 2;

  const canvas = byId('timeline');
  const context = canvas.getContext('2d');
  const height = TOP + (run.nodes.length + 1) * LANE + 6;
  const laneOf = (node) => TOP + (node + 1) * LANE + LANE / 2;
  page.laneOf = laneOf;
  page.LANE = LANE;
  const font = (size, weight = 400) => `${weight} ${size}px system-ui, sans-serif`;

  page.resizeTimeline = () => {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(sight.width() * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  };

  page.drawTimeline = () => {
    const width = sight.width();
    context.clearRect(0, 0, width, height);
    drawGrid(width);
    context.save();
    context.beginPath();
    context.rect(LEFT - 4, 0, width - LEFT + 4, height);
    context.clip();
    drawDowns();
    drawMessages();
    drawDecisions();
    drawLines();
    drawMarks();
    drawMoments();
    context.restore();
    drawNames();
  };

  function drawGrid(width) {
    context.strokeStyle = colours.line;
    context.fillStyle = colours.soft;
    context.font = font(11);
    context.lineWidth = 1;
    context.beginPath();
    for (const tick of sight.ticks(Math.max(2, Math.floor(width / 140)))) {
      const x = Math.round(sight.x(tick)) + 0.5;
      context.moveTo(x, 18);
      context.lineTo(x, height);
      context.textAlign = tick === 0 ? 'left' : 'center';
      context.fillText(shortTime(tick), x, 12);
    }
    for (let node = -1; node < run.nodes.length; node++) {
      const y = Math.round(laneOf(node)) + 0.5;
      context.moveTo(LEFT, y);
      context.lineTo(width, y);
    }
    context.stroke();
  }

  function drawNames() {
    context.textAlign = 'right';
    context.font = font(12, 600);
    for (let node = -1; node < run.nodes.length; node++) {
      context.fillStyle = nodeColour(node);
      context.fillText(nodeName(node), LEFT - 12, laneOf(node) + 4, LEFT - 20);
    }
  }

  /** A lane is hatched while its node is down. */
  function drawDowns() {
    const [left, right] = [LEFT, sight.right()];
    context.fillStyle = colours.line;
    context.globalAlpha = 0.6;
    for (const { node, fromNs, toNs } of page.downs) {
      const [x1, x2] = [Math.max(left, sight.x(fromNs)), Math.min(right, sight.x(toNs))];
      if (x2 > x1 && node >= 0) context.fillRect(x1, laneOf(node) - 9, x2 - x1, 18);
    }
    context.globalAlpha = 1;
  }

  function drawMessages() {
    const { sent } = run.messages;
    const first = lower(sent, sight.from() - page.longestFlightNs);
    const last = lower(sent, sight.to() + 1);
    if (last - first > ARROWS_MAX) drawDensity(first, last);
    else drawArrows(first, last);
  }

  function drawArrows(first, last) {
    const { from, to, sent, arrived } = run.messages;
    const hasHeads = last - first <= HEADS_MAX;
    context.lineWidth = 1.1;
    for (let node = 0; node < run.nodes.length; node++) {
      context.beginPath();
      for (let index = first; index < last; index++) {
        if (from[index] !== node || arrived[index] < 0) continue;
        const [x1, y1] = [sight.x(sent[index]), laneOf(node)];
        const [x2, y2] = [sight.x(arrived[index]), laneOf(to[index])];
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
        if (hasHeads) arrowHead(x1, y1, x2, y2);
      }
      context.strokeStyle = nodeColour(node);
      context.globalAlpha = 0.65;
      context.stroke();
    }
    context.globalAlpha = 1;
    context.strokeStyle = colours.fail;
    context.beginPath();
    for (let index = first; index < last; index++) {
      if (arrived[index] >= 0) continue;
      const [x, y] = [sight.x(sent[index]), laneOf(from[index])];
      const way = to[index] > from[index] ? 15 : -15;
      context.moveTo(x, y);
      context.lineTo(x + 9, y + way);
      cross(x + 9, y + way);
    }
    context.stroke();
  }

  function arrowHead(x1, y1, x2, y2) {
    const angle = Math.atan2(y2 - y1, x2 - x1);
    for (const turn of [-0.4, 0.4]) {
      context.moveTo(x2, y2);
      context.lineTo(x2 - 6 * Math.cos(angle + turn), y2 - 6 * Math.sin(angle + turn));
    }
  }

  function cross(x, y) {
    context.moveTo(x - 3, y - 3);
    context.lineTo(x + 3, y + 3);
    context.moveTo(x + 3, y - 3);
    context.lineTo(x - 3, y + 3);
  }

  /** So many messages leave a node in each column: bars on its lane, lost ones below it. */
  function drawDensity(first, last) {
    const { from, sent, arrived } = run.messages;
    const nodes = run.nodes.length;
    const columns = Math.max(1, Math.ceil((sight.right() - LEFT) / BIN));
    const [all, lost] = [new Uint32Array(columns * nodes), new Uint32Array(columns * nodes)];
    const perNs = (sight.x(1e9) - sight.x(0)) / 1e9 / BIN;
    const offset = (sight.x(0) - LEFT) / BIN;
    let most = 1;
    for (let index = first; index < last; index++) {
      const column = Math.floor(offset + sent[index] * perNs);
      if (column < 0 || column >= columns || from[index] < 0) continue;
      const at = from[index] * columns + column;
      const value = ++all[at];
      if (value > most) most = value;
      if (arrived[index] < 0) lost[at]++;
    }
    // Roots keep single messages to be seen beside bursts.
    const bar = (value) => 2 + (LANE / 2 - 8) * Math.sqrt(value / most);
    for (let node = 0; node < nodes; node++) {
      const y = laneOf(node);
      for (const [counts, fill, isUp] of [
        [all, nodeColour(node), true],
        [lost, colours.fail, false],
      ]) {
        context.fillStyle = fill;
        for (let column = 0; column < columns; column++) {
          const value = counts[node * columns + column];
          if (value === 0) continue;
          const high = bar(value);
          context.fillRect(LEFT + column * BIN, isUp ? y - high : y + 1, BIN, high);
        }
      }
    }
  }

  /** Calls `draw` for each pixel in which one of the sorted times lies. */
  function eachPixel(times, draw) {
    let index = lower(times, sight.from());
    const last = lower(times, sight.to() + 1);
    while (index < last) {
      const x = Math.floor(sight.x(times[index]));
      draw(x, index);
      const next = lower(times, sight.ns(x + 1));
      index = Math.max(index + 1, next);
    }
  }

  function drawDecisions() {
    const y = laneOf(-1);
    context.fillStyle = colours.line;
    eachPixel(run.decisions.at, (x) => context.fillRect(x, y + 5, 1, 10));
    context.fillStyle = colours.open;
    eachPixel(page.forced, (x) => context.fillRect(x, y + 2, 2, 16));
  }

  /** Ticks for console lines, and their texts where there is room. */
  function drawLines() {
    context.textAlign = 'left';
    context.font = font(11);
    let texts = 0;
    page.lines.forEach(({ rows, at }, lane) => {
      const y = laneOf(lane - 1);
      context.fillStyle = colours.soft;
      eachPixel(at, (x, index) => {
        context.fillRect(x, y + 8, 1, 6);
        const next = index + 1 < at.length ? sight.x(at[index + 1]) : sight.right();
        const room = Math.min(next, sight.right()) - x - 6;
        if (room < 48 || texts >= TEXTS_MAX) return;
        texts++;
        write(clipped(run.rows.text[rows[index]], room), x + 3, y + 19);
      });
    });
  }

  /** A text with a rim of the ground, so that lines behind it do not cross its letters. */
  function write(text, x, y) {
    context.strokeStyle = colours.back;
    context.lineWidth = 3;
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }

  /** As much of a text as has room, at six pixels a letter. */
  function clipped(text, room) {
    const most = Math.floor(room / 6);
    return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
  }

  function drawMarks() {
    const { rows, at } = page.marks;
    const { node, kind, text } = run.rows;
    const first = lower(at, sight.from());
    const last = Math.min(lower(at, sight.to() + 1), first + SIGNS_MAX);
    const free = new Map();
    // From right to left: each text ends before the next sign of its lane.
    for (let mark = last - 1; mark >= first; mark--) {
      const index = rows[mark];
      const [x, y] = [sight.x(at[mark]), laneOf(node[index])];
      const isFault = page.FAULTS.has(kind[index]);
      context.fillStyle = isFault ? colours.fail : nodeColour(node[index]);
      context.textAlign = 'center';
      context.font = font(15, 700);
      context.fillText(page.SIGNS[kind[index]] ?? '·', x, y - 10);
      const room = (free.get(node[index]) ?? sight.right()) - x - 18;
      free.set(node[index], x - 8);
      if (kind[index] === 'start' || room < 30) continue;
      context.textAlign = 'left';
      context.font = font(11);
      write(clipped(text[index], room), x + 9, y - 11);
    }
  }

  /** The moment that decided, and the one that is looked at. */
  function drawMoments() {
    if (sight.focusNs !== null && sight.focusNs !== page.decided?.atNs) {
      moment(sight.focusNs, colours.focus, shortTime(sight.focusNs));
    }
    const { decided } = page;
    if (decided === null) return;
    const colour = decided.verdict === 'fail' ? colours.fail : colours.open;
    moment(decided.atNs, colour, `${decided.verdict}: ${decided.name}`);
  }

  function moment(atNs, colour, label) {
    const x = Math.round(sight.x(atNs)) + 0.5;
    if (x < LEFT - 4 || x > sight.width()) return;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash([5, 3]);
    context.beginPath();
    context.moveTo(x, 30);
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
    context.font = font(12, 600);
    const wide = context.measureText(label).width + 12;
    const left = Math.min(Math.max(LEFT, x - wide / 2), sight.right() - wide);
    context.fillStyle = colour;
    context.fillRect(left, 16, wide, 17);
    context.fillStyle = colours.back;
    context.textAlign = 'left';
    context.fillText(label, left + 6, 29);
  }

  page.showLegend = () => {
    const parts = [
      ['→', 'message, in its sender’s colour', ''],
      ['✗', 'lost message, crash', 'bad'],
      ['▂▅', 'messages where there are too many for arrows: sent above the lane, lost below', ''],
      ['↯ ‖ ⛁ ◷', 'fault on network, node, disk, clock', 'bad'],
      ['▭', 'the node is down', ''],
      ['|', 'console line; on the world: decision', ''],
      ['|', 'decision that the seed did not make', 'open'],
    ];
    for (const [sign, meaning, className] of parts) {
      const item = element('span');
      item.append(element('b', sign, className), ` ${meaning}`);
      byId('legend').append(item);
    }
  };
})(globalThis.page);

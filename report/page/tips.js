// What stands under the pointer.
((page) => {
  'use strict';
  const { run, byId, lower, sight, nodeName, shortTime } = page;
  /** With more messages than this around, none is picked. */
  const NEAR_MAX = 3000;

  function rowAt(x, y) {
    const { rows } = run;
    const [fromNs, toNs] = [sight.ns(x - 8), sight.ns(x + 8)];
    const last = Math.min(rows.at.length, lower(rows.at, toNs));
    let found = null;
    for (let index = lower(rows.at, fromNs); index < last; index++) {
      if (Math.abs(page.laneOf(rows.node[index]) - y) > page.LANE / 2) continue;
      const isLine = page.QUIET.has(rows.kind[index]);
      // A fault is worth more than a line.
      if (found === null || !isLine) found = index;
      if (!isLine) break;
    }
    if (found === null) return null;
    const what = page.QUIET.has(rows.kind[found]) ? '' : `${rows.kind[found]}: `;
    return `${shortTime(rows.at[found])} ${nodeName(rows.node[found])} ${what}${rows.text[found]}`;
  }

  function messageAt(x, y) {
    const { from, to, sent, arrived, bytes } = run.messages;
    const first = lower(sent, sight.ns(x - 10) - page.longestFlightNs);
    const last = lower(sent, sight.ns(x + 10));
    if (last - first > NEAR_MAX) return null;
    for (let index = first; index < last; index++) {
      const isLost = arrived[index] < 0;
      const [x1, y1] = [sight.x(sent[index]), page.laneOf(from[index])];
      const way = to[index] > from[index] ? 15 : -15;
      const [x2, y2] = isLost
        ? [x1 + 9, y1 + way]
        : [sight.x(arrived[index]), page.laneOf(to[index])];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const off = Math.abs((y2 - y1) * x - (x2 - x1) * y + x2 * y1 - y2 * x1) / length;
      const isWithin = y >= Math.min(y1, y2) - 4 && y <= Math.max(y1, y2) + 4;
      if (off > 5 || !isWithin) continue;
      const fate = isLost ? 'never arrived' : `arrived ${shortTime(arrived[index])}`;
      const way2 = `${nodeName(from[index])} → ${nodeName(to[index])}`;
      return `${shortTime(sent[index])} ${way2}, ${bytes[index]} bytes, ${fate}`;
    }
    return null;
  }

  page.startTips = () => {
    const canvas = byId('timeline');
    const tip = byId('tip');
    const place = ({ clientX, clientY }) => {
      const box = canvas.getBoundingClientRect();
      return [clientX - box.left, clientY - box.top];
    };
    canvas.addEventListener('mousemove', (event) => {
      const [x, y] = place(event);
      const found = x < page.LEFT ? null : (rowAt(x, y) ?? messageAt(x, y));
      tip.hidden = found === null;
      if (found === null) return;
      tip.textContent = found;
      const top = byId('overview').clientHeight;
      tip.style.left = `${Math.max(0, Math.min(x + 14, sight.width() - 320))}px`;
      tip.style.top = `${Math.min(y + top + 16, top + canvas.clientHeight - 44)}px`;
    });
    canvas.addEventListener('mouseleave', () => (tip.hidden = true));
    canvas.addEventListener('click', (event) => {
      const [x] = place(event);
      if (x >= page.LEFT) page.focusOn(Math.round(sight.ns(x)));
    });
  };
})(globalThis.page);

// The strip above the timeline: the whole run, and which part of it is in sight.
((page) => {
  'use strict';
  const { run, byId, endNs, colours, sight } = page;
  const HEIGHT = 36;
  const canvas = byId('overview');
  const context = canvas.getContext('2d');
  let picture = null;

  const x = (ns) => page.LEFT + (ns / endNs) * (sight.right() - page.LEFT);

  /** Draws what does not change with the sight; once for each size and theme. */
  function drawWhole(width, ratio) {
    picture = document.createElement('canvas');
    picture.width = Math.round(width * ratio);
    picture.height = Math.round(HEIGHT * ratio);
    const on = picture.getContext('2d');
    on.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawTraffic(on);
    for (const index of page.marks.rows) {
      if (!page.FAULTS.has(run.rows.kind[index])) continue;
      on.fillStyle = colours.open;
      on.fillRect(Math.round(x(run.rows.at[index])), 2, 2, 9);
    }
    on.fillStyle = colours.soft;
    on.font = '11px system-ui, sans-serif';
    on.textAlign = 'right';
    on.fillText('whole run', page.LEFT - 12, HEIGHT / 2 + 4);
    if (page.decided !== null) {
      on.fillStyle = colours.fail;
      on.fillRect(Math.round(x(page.decided.atNs)) - 1, 0, 3, HEIGHT);
    }
  }

  function drawTraffic(on) {
    const columns = Math.max(1, Math.ceil((sight.right() - page.LEFT) / 2));
    const [all, lost] = [new Uint32Array(columns), new Uint32Array(columns)];
    const { sent, arrived } = run.messages;
    let most = 1;
    for (let index = 0; index < sent.length; index++) {
      const column = Math.min(columns - 1, Math.floor((sent[index] / endNs) * columns));
      most = Math.max(most, ++all[column]);
      if (arrived[index] < 0) lost[column]++;
    }
    const bar = (count) => (HEIGHT - 14) * Math.sqrt(count / most);
    for (const [counts, colour] of [
      [all, colours.soft],
      [lost, colours.fail],
    ]) {
      on.fillStyle = colour;
      for (let column = 0; column < columns; column++) {
        if (counts[column] === 0) continue;
        const high = Math.max(1, bar(counts[column]));
        on.fillRect(page.LEFT + column * 2, HEIGHT - 2 - high, 2, high);
      }
    }
  }

  page.resizeOverview = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = sight.width();
    canvas.style.height = `${HEIGHT}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawWhole(width, ratio);
  };

  page.drawOverview = () => {
    context.clearRect(0, 0, sight.width(), HEIGHT);
    context.drawImage(picture, 0, 0, sight.width(), HEIGHT);
    const [left, right] = [x(sight.from()), x(sight.to())];
    context.fillStyle = colours.focus;
    context.globalAlpha = 0.16;
    context.fillRect(left, 0, Math.max(2, right - left), HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = colours.focus;
    context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), HEIGHT - 1);
  };

  const goTo = (event) => {
    if (event.buttons !== 1) return;
    const at = event.clientX - canvas.getBoundingClientRect().left;
    const share = (at - page.LEFT) / (sight.right() - page.LEFT);
    const half = (sight.to() - sight.from()) / 2;
    const middle = Math.min(endNs - half, Math.max(half, share * endNs));
    page.showSpan(middle - half, middle + half);
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    goTo(event);
  });
  canvas.addEventListener('pointermove', goTo);
})(globalThis.page);

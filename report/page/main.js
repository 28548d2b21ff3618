// Puts the page together, and draws it again where its size, its colours or the sight change.
((page) => {
  'use strict';
  const { byId, sight, shortTime } = page;

  page.showHead();
  page.showProperties();
  page.showTabs();
  page.showLegend();
  page.showFilters();
  page.showPlan();

  let queued = false;
  const queueDraw = () => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      drawAll();
    });
  };

  function drawAll() {
    if (sight.width() === 0) return;
    page.drawTimeline();
    page.drawOverview();
    const [from, to] = [sight.from(), sight.to()];
    byId('sight').textContent =
      `${shortTime(from)} – ${shortTime(to)} (${shortTime(to - from)}) · scroll zooms, drag moves`;
  }

  function resize() {
    const width = byId('chart').clientWidth;
    if (width === 0 || width === sight.width()) return;
    page.resizeSight(width);
    page.resizeTimeline();
    page.resizeOverview();
    queueDraw();
  }

  page.startSight();
  page.startTips();
  resize();
  if (page.decided !== null) page.goTo(page.decided.atNs);
  drawAll();
  page.fillLists();
  page.showNodes();
  sight.onChange(() => {
    byId('tip').hidden = true;
    queueDraw();
    page.fillListsSoon();
  });
  page.onTheme(() => {
    page.resizeOverview();
    drawAll();
    page.fillLists();
  });
  new ResizeObserver(resize).observe(byId('chart'));
  document.addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
    if (key !== 't' || ctrlKey || metaKey || altKey || /^(INPUT|SELECT)$/.test(target.tagName))
      return;
    byId('theme').click();
  });
  // How long until the run was on the screen, for tests of this page.
  requestAnimationFrame(() => {
    document.body.dataset.paintedMs = String(Math.round(performance.now()));
  });
})(globalThis.page);

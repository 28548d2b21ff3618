// What part of the run is in sight, and the moment that somebody looks at.
((page) => {
  'use strict';
  const { run, endNs, lower, byId } = page;

  /** Left of the lanes stand their names. */
  page.LEFT = 120;
  const RIGHT = 14;
  /** The closest look: a microsecond over the whole width. */
  const NEAREST_NS = 1000;

  let width = 0;
  let transform = d3.zoomIdentity;
  const watchers = [];
  const canvas = byId('timeline');

  const plain = () => d3.scaleLinear([0, endNs], [page.LEFT, width - RIGHT]);
  let scale = plain();

  const zoom = d3
    .zoom()
    .scaleExtent([1, Math.max(2, endNs / NEAREST_NS)])
    .on('zoom', (event) => {
      transform = event.transform;
      scale = transform.rescaleX(plain());
      for (const watcher of watchers) watcher();
    });

  page.sight = {
    x: (ns) => scale(ns),
    ns: (x) => scale.invert(x),
    ticks: (wanted) => scale.ticks(wanted),
    from: () => Math.max(0, scale.invert(page.LEFT)),
    to: () => Math.min(endNs, scale.invert(width - RIGHT)),
    width: () => width,
    right: () => width - RIGHT,
    /** The moment that is looked at, or null. */
    focusNs: null,
    onChange: (watcher) => watchers.push(watcher),
  };
  const { sight } = page;

  page.resizeSight = (next) => {
    const before = width > 0 ? [sight.from(), sight.to()] : null;
    width = next;
    const extent = [
      [page.LEFT, 0],
      [width - RIGHT, 100],
    ];
    zoom.extent(extent).translateExtent(extent);
    scale = transform.rescaleX(plain());
    if (before !== null) page.showSpan(before[0], before[1]);
  };

  page.showSpan = (fromNs, toNs) => {
    const span = Math.max(NEAREST_NS, toNs - fromNs);
    const k = Math.min(endNs / span, Math.max(2, endNs / NEAREST_NS));
    // Scaled by k, the place of `fromNs` moves to the left edge.
    const x = page.LEFT - k * plain()(fromNs);
    d3.select(canvas).call(zoom.transform, d3.zoomIdentity.translate(x, 0).scale(k));
  };

  page.showWhole = () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity);

  /** So much around a moment that what led to it can be read: some dozens of messages. */
  function spanAround(atNs) {
    const { sent } = run.messages;
    const at = lower(sent, atNs);
    const before = at > 0 ? atNs - sent[Math.max(0, at - 60)] : endNs / 30;
    const span = Math.min(endNs / 3, Math.max(before * 1.35, endNs / 5000, NEAREST_NS));
    const from = Math.max(0, Math.min(atNs - span * 0.75, endNs - span));
    return [from, from + span];
  }

  /** Shows a moment; a look that is closer already stays as close. */
  page.goTo = (atNs) => {
    sight.focusNs = atNs;
    let [from, to] = spanAround(atNs);
    const span = sight.to() - sight.from();
    if (span < to - from) [from, to] = [atNs - span / 2, atNs + span / 2];
    page.showSpan(from, to);
  };

  page.focusOn = (atNs) => {
    sight.focusNs = atNs;
    for (const watcher of watchers) watcher();
  };

  const selection = () => d3.select(canvas);
  const KEYS = {
    ArrowLeft: () => selection().call(zoom.translateBy, width / 8 / transform.k, 0),
    ArrowRight: () => selection().call(zoom.translateBy, -width / 8 / transform.k, 0),
    '+': () => selection().call(zoom.scaleBy, 1.6),
    '=': () => selection().call(zoom.scaleBy, 1.6),
    '-': () => selection().call(zoom.scaleBy, 1 / 1.6),
    0: page.showWhole,
    d: () => page.decided !== null && page.goTo(page.decided.atNs),
  };

  page.startSight = () => {
    selection()
      .call(zoom)
      .on('dblclick.zoom', () => page.showWhole());
    canvas.addEventListener('keydown', (event) => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    });
    byId('whole').onclick = page.showWhole;
    byId('in').onclick = KEYS['+'];
    byId('out').onclick = KEYS['-'];
    byId('decided').onclick = KEYS.d;
    byId('decided').hidden = page.decided === null;
  };
})(globalThis.page);

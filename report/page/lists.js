// Console lines and decisions: of a list only what is in sight is in the page.
((page) => {
  'use strict';
  const { run, byId, element, lower, sight, count } = page;
  const ROW = 20;

  /** A list of `size` rows; `indexAt` gives the index of each in its columns. */
  function virtualList(box, { column, show }) {
    let size = 0;
    let indexAt = (row) => row;
    let focused = -1;
    const inner = element('div');
    const none = element('div', 'nothing in sight', 'none');
    box.append(inner, none);
    const paint = () => {
      inner.style.height = `${size * ROW}px`;
      none.hidden = size > 0;
      const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 4);
      const last = Math.min(size, first + Math.ceil(box.clientHeight / ROW) + 9);
      const rows = [];
      for (let at = first; at < last; at++) {
        const index = indexAt(at);
        const row = show(index);
        row.className = at === focused ? 'row focused' : 'row';
        row.style.top = `${at * ROW}px`;
        row.onclick = () => page.goTo(column[index]);
        rows.push(row);
      }
      inner.replaceChildren(...rows);
    };
    const reveal = () => {
      const top = focused * ROW;
      const isSeen = top >= box.scrollTop && top + ROW <= box.scrollTop + box.clientHeight;
      if (focused >= 0 && !isSeen) box.scrollTop = Math.max(0, top - box.clientHeight / 2);
    };
    box.onscroll = paint;
    box.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === 'Enter' && focused >= 0) page.goTo(column[indexAt(focused)]);
      if (step === undefined || size === 0) return;
      event.preventDefault();
      focused = Math.min(size - 1, Math.max(0, focused + step));
      reveal();
      paint();
    };
    return (nextSize, nextIndexAt) => {
      size = nextSize;
      indexAt = nextIndexAt;
      focused = lastBefore(size, (row) => column[indexAt(row)]);
      if (focused < 0) box.scrollTop = 0;
      reveal();
      paint();
    };
  }

  /** The last row that is not after the moment that is looked at, or -1. */
  function lastBefore(size, timeAt) {
    if (sight.focusNs === null) return -1;
    let [low, high] = [0, size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (timeAt(middle) <= sight.focusNs) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  const nameWidth = Math.min(
    16,
    run.nodes.reduce((most, { name }) => Math.max(most, name.length), 5),
  );

  const setConsole = virtualList(byId('console'), {
    column: run.rows.at,
    show: (index) => {
      const { at, node, kind, text } = run.rows;
      const row = element('div');
      const name = element('span', ` ${page.nodeName(node[index]).padEnd(nameWidth)} `);
      name.style.color = page.nodeColour(node[index]);
      const isLine = page.QUIET.has(kind[index]);
      const sign = isLine ? '' : `${page.SIGNS[kind[index]] ?? '·'} `;
      const what = element('span', sign + text[index]);
      if (page.FAULTS.has(kind[index]) || kind[index] === 'stderr') what.className = 'bad';
      row.append(element('span', page.columnTime(at[index]), 'time'), name, what);
      row.title = `${kind[index]}: ${text[index]}`;
      return row;
    },
  });

  const setDecisions = virtualList(byId('decisions'), {
    column: run.decisions.at,
    show: (index) => {
      const { at, stream, ordinal, arity, choice, door, streams } = run.decisions;
      const row = element('div');
      const by = run.doors[door[index]];
      const isForced = by !== 'seeded';
      row.append(
        element('span', page.columnTime(at[index]), 'time'),
        element('span', ` ${streams[stream[index]]}#${ordinal[index]}=${choice[index]}`),
        element('span', ` of ${arity[index]}`, 'soft'),
        element('span', ` ${by}`, isForced ? 'forced' : 'soft'),
      );
      return row;
    },
  });

  /** The rows in sight, as a first and a number, or as a list where there is a filter. */
  function fill(column, keeps, set, counter) {
    const first = lower(column, Math.floor(sight.from()));
    const last = lower(column, Math.floor(sight.to()) + 1);
    if (keeps === null) {
      set(last - first, (row) => first + row);
      byId(counter).textContent = count(last - first);
      return;
    }
    const found = [];
    for (let index = first; index < last; index++) if (keeps(index)) found.push(index);
    set(found.length, (row) => found[row]);
    byId(counter).textContent = `${count(found.length)} of ${count(last - first)}`;
  }

  page.fillLists = () => {
    const wanted = byId('node').value;
    const words = byId('filter').value.toLowerCase();
    const { node, text } = run.rows;
    const keepsRow = (index) => {
      if (wanted !== '' && String(node[index]) !== wanted) return false;
      return words === '' || text[index].toLowerCase().includes(words);
    };
    const isAll = wanted === '' && words === '';
    fill(run.rows.at, isAll ? null : keepsRow, setConsole, 'console-count');
    const door = byId('door').value;
    const keepsDecision = (index) => {
      if (door === 'forced') return run.doors[run.decisions.door[index]] !== 'seeded';
      return String(run.decisions.door[index]) === door;
    };
    fill(run.decisions.at, door === '' ? null : keepsDecision, setDecisions, 'decisions-count');
  };

  let filling = 0;
  page.fillListsSoon = () => {
    clearTimeout(filling);
    filling = setTimeout(page.fillLists, 120);
  };

  page.showFilters = () => {
    byId('node').append(new Option('all nodes', ''), new Option('world', '-1'));
    run.nodes.forEach(({ name }, node) => byId('node').append(new Option(name, String(node))));
    byId('door').append(new Option('all doors', ''));
    if (page.forced.length > 0) byId('door').append(new Option('all but seeded', 'forced'));
    const used = new Set(run.decisions.door);
    run.doors.forEach((name, door) => {
      if (used.has(door)) byId('door').append(new Option(name, String(door)));
    });
    byId('node').onchange = page.fillLists;
    byId('door').onchange = page.fillLists;
    byId('filter').oninput = page.fillListsSoon;
  };
})(globalThis.page);

// The plan of a run: its tests, their axes, the coverage of dependencies, and which leaf this run was.
((page) => {
  'use strict';
  const { run, byId, element, shortTime } = page;

  page.showPlan = () => {
    const panel = byId('plan');
    const { plan } = run;
    if (plan === null) {
      panel.append(element('p', 'no plan data'));
      return;
    }
    const { totals = {}, tests = [] } = plan;
    const total = `${totals.estimated ? 'at least ' : ''}${totals.instances ?? 0}`;
    panel.append(
      element('h2', 'Plan'),
      facts([
        ['spec', plan.spec_path ?? ''],
        ['seed', plan.seed ?? '(unseeded)'],
        ['determinism', levelOf(plan.determinism)],
        ['Total', `${total} plan instance(s)`],
      ]),
    );
    for (const test of tests) panel.append(showTest(test));
    panel.append(element('h2', 'Coverage'), coverageTable(plan.coverage?.edges ?? []));
    for (const { code, message } of plan.diagnostics ?? []) {
      panel.append(element('p', `${code}: ${message}`, 'gap'));
    }
  };

  function levelOf({ level = '', runtime = '', strict = false } = {}) {
    return [level, runtime, strict ? 'strict' : ''].filter((each) => each !== '').join(', ');
  }

  function facts(entries) {
    const table = element('table');
    for (const [name, value] of entries) {
      const row = table.insertRow();
      row.append(element('th', name), element('td', String(value)));
    }
    return table;
  }

  const isOwn = (test) => test.name === (run.plan.leaf?.test ?? run.title);

  function showTest(test) {
    const own = isOwn(test);
    const box = element('div', undefined, own ? 'test own' : 'test');
    const head = element('h3', test.name);
    const many = `${test.estimated ? 'at least ' : ''}${test.instances}`;
    head.append(element('span', ` ${test.kind} × ${many}`, 'kind'));
    box.append(head);
    if (own) box.append(ownLeaf(test));
    const table = element('table');
    for (const { kind, axes = [] } of test.compositions ?? []) {
      for (const axis of axes) addRow(table, `${kind} ${axis.name}`, chips(axis, own));
    }
    addRow(table, 'faults', (test.faults ?? []).map(faultChip));
    addRow(table, 'must hold', (test.expect ?? []).map(expectChip(own)));
    const limit = limitOf(test.timeout);
    if (limit !== '') addRow(table, 'limit', [element('span', limit)]);
    box.append(table);
    return box;
  }

  /** The one instance that this bundle has a trace of (FB-64). */
  function ownLeaf({ instances }) {
    const line = element('p', undefined, 'leafline');
    const { leaf } = run.plan;
    const text = leaf === undefined ? 'this run' : `this run: leaf ${leaf.index} of ${instances}`;
    const show = element('button', 'Show its trace');
    show.onclick = () => {
      page.selectTab('trace');
      byId('tab-trace').focus();
    };
    line.append(`${text} — `, element('span', run.verdict, `verdict ${run.verdict}`), ' ', show);
    return line;
  }

  function addRow(table, name, cells) {
    if (cells.length === 0) return;
    const row = table.insertRow();
    const cell = element('td');
    cell.append(...cells);
    row.append(element('th', name), cell);
  }

  function chips({ name, values }, own) {
    if (values === null) return [element('span', '(computed — size unknown)', 'gap')];
    const chosen = own ? chosenOf(name) : null;
    return values.map((value, index) => {
      const isChosen = index === chosen;
      return element('span', String(value), isChosen ? 'chip chosen' : 'chip');
    });
  }

  /** Which option of an axis this run took: the plan says so, or the door `leaf` answered it. */
  function chosenOf(name) {
    const pinned = run.plan.leaf?.axes?.find((axis) => axis.name === name);
    if (pinned !== undefined) return pinned.value;
    const { stream, streams, choice, door } = run.decisions;
    const wanted = streams.findIndex((each) => each.endsWith(`/choose/${name}`));
    if (wanted < 0) return null;
    const at = stream.findIndex((each, index) => {
      return each === wanted && run.doors[door[index]] === 'leaf';
    });
    return at < 0 ? null : choice[at];
  }

  function faultChip(fault) {
    if (typeof fault === 'string') return element('span', fault, 'chip');
    const { name, kind, at_ns: atNs, chance_millionths: chance } = fault;
    const share = chance < 1e6 ? `, chance ${chance / 1e4} %` : '';
    return element('span', `${name} (${kind}) at ${shortTime(atNs)}${share}`, 'chip');
  }

  function expectChip(own) {
    return (expected) => {
      const name = typeof expected === 'string' ? expected : expected.name;
      const found = own ? run.properties.find((each) => each.name === name) : undefined;
      return element('span', name, `chip${found === undefined ? '' : ` verdict ${found.verdict}`}`);
    };
  }

  function limitOf(timeout) {
    if (timeout === null || timeout === undefined) return '';
    if (typeof timeout !== 'object') return String(timeout);
    return timeout.virtual_ns === undefined ? '' : shortTime(timeout.virtual_ns);
  }

  function coverageTable(edges) {
    if (edges.length === 0) return element('p', 'no dependency edges', 'hint');
    const table = element('table', undefined, 'lined');
    for (const { from, to, fault_tests: tests = [] } of edges) {
      const isCovered = tests.length > 0;
      const row = table.insertRow();
      row.append(
        element('td', isCovered ? '✓' : '⚠', isCovered ? 'covered' : 'gap'),
        element('td', `${from} → ${to}`),
        element('td', isCovered ? `faulted in: ${tests.join(', ')}` : 'no fault test'),
      );
    }
    return table;
  }
})(globalThis.page);

// The head, what must hold, the nodes, and the toggle between trace and plan.
((page) => {
  'use strict';
  const { run, byId, element, shortTime, count } = page;

  page.showHead = () => {
    byId('title').append(
      element('span', run.verdict, `badge ${run.verdict}`),
      `${run.title}, seed ${run.seed}`,
    );
    const lost = run.messages.arrived.reduce((sum, at) => sum + (at < 0 ? 1 : 0), 0);
    byId('facts').textContent = [
      `${shortTime(run.endNs)} of virtual time`,
      `ended: ${run.reason}`,
      `${run.nodes.length} nodes`,
      `${count(run.eventCount)} events`,
      `${count(run.messages.from.length)} messages, ${count(lost)} lost`,
      `${count(run.decisions.at.length)} decisions`,
      `scenario ${run.scenarioId.slice(0, 12)}`,
      run.engine,
    ].join(' · ');
    if (run.missing !== null) byId('facts').after(element('p', run.missing, 'facts gap'));
    byId('replay').textContent = run.replay;
    byId('copy').onclick = () => {
      void navigator.clipboard?.writeText(run.replay);
      byId('copy').textContent = 'Copied';
    };
    const leaf = run.plan?.leaf;
    if (leaf !== undefined) byId('leaf').textContent = leaf.title;
  };

  const RANK = ['error', 'fail', 'inconclusive', 'pass'];

  page.showProperties = () => {
    const table = byId('properties');
    if (run.properties.length === 0) {
      table.append(element('caption', 'The scenario has no properties.', 'hint'));
    }
    const sorted = [...run.properties].sort(
      (a, b) => RANK.indexOf(a.verdict) - RANK.indexOf(b.verdict),
    );
    for (const { name, verdict, kind, detail, atNs } of sorted) {
      const row = table.insertRow();
      row.className = verdict;
      const when = element('td');
      if (atNs !== null) {
        const show = element('button', `at ${shortTime(atNs)}`);
        show.title = 'show this moment';
        show.onclick = () => page.goTo(atNs);
        when.append(show);
      }
      row.append(
        element('td', verdict, `verdict ${verdict}`),
        element('td', name),
        element('td', kind === name ? '' : kind, 'hint'),
        when,
        element('td', detail),
      );
    }
  };

  page.showNodes = () => {
    const { from, to, arrived } = run.messages;
    const counts = run.nodes.map(() => ({ sent: 0, got: 0, lost: 0, lines: 0 }));
    for (let index = 0; index < from.length; index++) {
      const [sender, receiver] = [counts[from[index]], counts[to[index]]];
      if (sender !== undefined) sender.sent++;
      if (arrived[index] < 0) {
        if (sender !== undefined) sender.lost++;
      } else if (receiver !== undefined) receiver.got++;
    }
    for (let index = 0; index < run.rows.at.length; index++) {
      const own = counts[run.rows.node[index]];
      if (own !== undefined && page.QUIET.has(run.rows.kind[index])) own.lines++;
    }
    const table = byId('nodes');
    const head = table.createTHead().insertRow();
    const titles = ['node', 'guest', 'at the end', 'starts', 'sent', 'received', 'lost', 'lines'];
    titles.forEach((title, index) => {
      head.append(element('th', title, index > 2 ? 'number' : undefined));
    });
    run.nodes.forEach(({ name, guest, ended, lives }, node) => {
      const row = table.insertRow();
      const named = element('td', name);
      named.dataset.node = String(node);
      row.append(named, element('td', guest), element('td', ended));
      const { sent, got, lost, lines } = counts[node];
      for (const number of [lives, sent, got, lost, lines]) {
        row.append(element('td', count(number), 'number'));
      }
    });
    const paint = () => {
      for (const cell of table.querySelectorAll('td[data-node]')) {
        cell.style.color = page.nodeColour(Number(cell.dataset.node));
        cell.style.fontWeight = '600';
      }
    };
    page.onTheme(paint);
    paint();
  };

  page.showTabs = () => {
    const buttons = [...document.querySelectorAll('#tabs button')];
    const select = (chosen) => {
      for (const button of buttons) {
        const isChosen = button.dataset.tab === chosen;
        button.setAttribute('aria-selected', String(isChosen));
        button.tabIndex = isChosen ? 0 : -1;
        byId(button.dataset.tab).hidden = !isChosen;
      }
    };
    buttons.forEach((button, index) => {
      button.onclick = () => select(button.dataset.tab);
      button.onkeydown = ({ key }) => {
        const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -index, End: -index - 1 };
        if (!(key in steps)) return;
        const next = buttons.at((index + steps[key]) % buttons.length);
        select(next.dataset.tab);
        next.focus();
      };
    });
    page.selectTab = select;
    select('trace');
  };
})(globalThis.page);

import { describe, expect, it } from 'vitest';
import { MILLION, NS_PER_MS, type ActionDef, type EventDef } from '../../sim/index.ts';
import type { SmallOptions } from '../support/small-world.ts';
import type { NODES } from './scripted.ts';
import { scriptedWorld, type Act } from './scripted.ts';

const MS = NS_PER_MS;

type Scripts = Readonly<Partial<Record<(typeof NODES)[number], readonly Act[]>>>;

/** The one property of a world, as `verdict @ms: detail`. */
function judge(property: string, scripts: Scripts, options: Partial<SmallOptions> = {}): string {
  const toml = `[[property]]\nname = "p"\n${property}\n`;
  const world = scriptedWorld(scripts, { toml, ...options }).run().world;
  const [result] = world.results().filter(({ name }) => name === 'p');
  if (result === undefined) throw new Error('there is no such property');
  const at = result.atNs === null ? '' : ` @${result.atNs / MS}`;
  return `${result.verdict}${at}: ${result.detail}`;
}

function event(name: string, atMs: number, action: ActionDef, more: Partial<EventDef> = {}) {
  return { name, atNs: atMs * MS, withinNs: 0, chance: MILLION, action, ...more };
}

const CRASH_A = { events: [event('x', 20, { kind: 'crash', oneOf: [0] }, { forNs: 30 * MS })] };
const HANG_A = { events: [event('x', 20, { kind: 'pause', oneOf: [0], forNs: 15 * MS })] };

/** Property, scripts, options, and what is to be found. */
type Row = readonly [string, Scripts, Partial<SmallOptions>, string];

const PREDICATES: readonly Row[] = [
  [
    'kind = "unreachable"\nthat = { console_match = { text = "boom *" } }',
    { a: [[3, 'say', 'fine']], b: [[7, 'say', 'boom 1']] },
    {},
    'fail @7: b wrote "boom 1": any node writes "boom *"',
  ],
  [
    'kind = "unreachable"\nthat = { console_match = { nodes = ["a"], text = "boom *" } }',
    { b: [[7, 'say', 'boom 1']] },
    {},
    'pass: never reached',
  ],
  [
    'kind = "reachable"\nthat = { guest_marker = { name = "won *" } }',
    { a: [[4, 'mark', '{"kind":"log","name":"won seat"}']] },
    {},
    'pass @4: first when a marked {"kind":"log","name":"won seat"}',
  ],
  [
    'kind = "reachable"\nthat = { guest_marker = { name = "won *" } }',
    { a: [[4, 'mark', 'lost all']] },
    {},
    'pass: vacuous: never in this run: any node marks "won *"',
  ],
  [
    'kind = "unreachable"\nthat = { network_match = { from = ["a"], match = "prefix", text = "ba" } }',
    { a: [[2, 'send', 'b bad']], b: [[1, 'send', 'a bad']] },
    {},
    'fail @7: a packet of 3 bytes from a to b arrived: a packet from a to any node, payload prefix "ba" arrives',
  ],
  [
    'kind = "sometimes"\nthat = { network_match = { when = "send", protocol = "udp", match = "exact", hex = "6f6b" } }',
    {
      a: [
        [2, 'send', 'b okay'],
        [3, 'send', 'b ok'],
      ],
    },
    {},
    'pass @3: first when a packet of 2 bytes from a to b was sent',
  ],
  [
    'kind = "sometimes"\nthat = { network_match = { protocol = "tcp" } }',
    { a: [[2, 'send', 'b ok']] },
    {},
    'pass: vacuous: never in this run: a tcp packet from any node to any node arrives',
  ],
  [
    'kind = "sometimes"\nthat = { network_match = { match = "contains", text = "kk" } }',
    {
      a: [
        [2, 'send', 'b okok'],
        [3, 'send', 'b okkay'],
      ],
    },
    {},
    'pass @8: first when a packet of 5 bytes from a to b arrived',
  ],
  [
    'kind = "unreachable"\nthat = { io_pattern = { nodes = ["b"], io = "fsync" } }',
    {
      a: [[1, 'sync']],
      b: [
        [2, 'write', 'x'],
        [3, 'sync'],
      ],
    },
    {},
    'fail @3: b did fsync: b does fsync',
  ],
  [
    'kind = "unreachable"\nthat = { io_pattern = { io = "block_read" } }',
    {
      a: [
        [1, 'write', 'x'],
        [2, 'sync'],
      ],
    },
    {},
    'pass: never reached',
  ],
  [
    'kind = "sometimes"\nthat = { io_pattern = { io = "block_write" } }',
    {
      a: [
        [1, 'read'],
        [2, 'write', 'x'],
      ],
    },
    {},
    'pass @2: first when a did block_write',
  ],
  [
    'kind = "sometimes"\nthat = { io_pattern = { nodes = ["b"], io = "network" } }',
    { a: [[1, 'send', 'b x']] },
    {},
    'pass @6: first when a packet of 1 bytes from a to b arrived',
  ],
  [
    'kind = "always"\nthat = { not = { io_pattern = { io = "any" } } }',
    { a: [[1, 'read']] },
    {},
    'fail @1: a did block_read: not any node does any I/O does not hold',
  ],
  [
    'kind = "always"\nthat = { not = { node_state = { is = "crashed" } } }',
    {},
    CRASH_A,
    'fail @20: a is crashed: not any node is crashed does not hold',
  ],
  [
    'kind = "always"\nthat = { not = { node_state = { nodes = ["b"], is = "crashed" } } }',
    {},
    CRASH_A,
    'pass: held',
  ],
  [
    'kind = "sometimes"\nthat = { node_state = { is = "crashed" } }',
    { b: [[9, 'trap', 'wasm/unreachable']] },
    {},
    'pass @9: first when b is crashed',
  ],
  [
    'kind = "sometimes"\nthat = { node_state = { nodes = ["b"], is = "exited" } }',
    { a: [[8, 'exit', '0']], b: [[9, 'exit', '0']] },
    {},
    'pass @9: first when b is exited',
  ],
  [
    'kind = "sometimes"\nthat = { node_state = { is = "hung" } }',
    {},
    HANG_A,
    'pass @20: first when a is hung',
  ],
  [
    'kind = "eventually"\nwhen = { node_state = { is = "hung" } }\nthat = { node_state = { nodes = ["a"], is = "started" } }\nwithin = "15ms"',
    { b: [[40, 'say', '-']] },
    HANG_A,
    'pass: 1 of 1 times',
  ],
  [
    'kind = "always"\nthat = { node_state = { nodes = ["a"], is = "started" } }',
    {},
    HANG_A,
    'fail @20: a is hung: a is started does not hold',
  ],
  ['kind = "always"\nthat = { named = "node_alive:a" }', {}, HANG_A, 'pass: held'],
  [
    'kind = "always"\nthat = { named = "node_alive:a" }',
    {},
    CRASH_A,
    'fail @20: a is crashed: (a is started or a is hung) does not hold',
  ],
  [
    'kind = "always"\nthat = { named = "no_crashed_nodes" }',
    {},
    CRASH_A,
    'fail @20: a is crashed: not any node is crashed does not hold',
  ],
  [
    'kind = "sometimes"\nthat = { named = "node_crashed:a" }',
    {},
    CRASH_A,
    'pass @20: first when a is crashed',
  ],
  [
    'kind = "sometimes"\nthat = { named = "quiescent" }',
    { a: [[6, 'say', 'x']] },
    {},
    'pass @6: first when the world came to rest',
  ],
  [
    'kind = "eventually"\nthat = { quiescent = true }\nwithin = "5ms"',
    { a: [[6, 'say', 'x']] },
    {},
    'fail @5: not in time: nothing can happen within 5ms',
  ],
  [
    'kind = "sometimes"\nthat = { assertion_state = { name = "paid", is = "held" } }',
    {
      a: [
        [3, 'mark', '{"kind":"sometimes","name":"paid","condition":false}'],
        [5, 'mark', '{"kind":"sometimes","name":"paid","condition":true}'],
      ],
    },
    {},
    'pass @5: first when "paid" was held on a',
  ],
  [
    'kind = "unreachable"\nthat = { assertion_state = { name = "paid", is = "reached" } }',
    { a: [[3, 'mark', '{"kind":"sometimes","name":"paid","condition":false}']] },
    {},
    'fail @3: "paid" was reached on a: "paid" was reached',
  ],
  [
    'kind = "after_quiescence"\nthat = { not = { assertion_state = { name = "paid", is = "failed" } } }',
    { a: [[3, 'mark', '{"kind":"always","name":"paid","condition":true}']] },
    {},
    'pass @3: not "paid" was failed holds at rest',
  ],
  [
    'kind = "after_quiescence"\nthat = { not = { assertion_state = { name = "paid", is = "failed" } } }',
    { a: [[3, 'mark', '{"kind":"always","name":"paid","condition":false}']] },
    {},
    'fail @3: at rest not "paid" was failed does not hold',
  ],
  [
    'kind = "sometimes"\nthat = { all_of = [{ at = "25ms" }, { node_state = { is = "crashed" } }] }',
    {},
    CRASH_A,
    'pass @25: first when at 25ms',
  ],
  [
    'kind = "sometimes"\nthat = { all_of = [{ at = "15ms" }, { node_state = { is = "crashed" } }] }',
    {},
    CRASH_A,
    'pass: vacuous: never in this run: (it is 15ms and any node is crashed)',
  ],
  [
    'kind = "unreachable"\nthat = { all_of = [{ after = "5ms" }, { console_match = { text = "x" } }] }',
    {
      a: [
        [4, 'say', 'x'],
        [5, 'say', 'x'],
      ],
    },
    {},
    'fail @5: a wrote "x": (it is past 5ms and any node writes "x")',
  ],
  [
    'kind = "unreachable"\nthat = { any_of = [{ console_match = { text = "x" } }, { console_match = { text = "y" } }] }',
    { a: [[4, 'say', 'z']], b: [[6, 'say', 'y']] },
    {},
    'fail @6: b wrote "y": (any node writes "x" or any node writes "y")',
  ],
  [
    'kind = "after_quiescence"\nthat = { once = { console_match = { text = "done" } } }',
    {
      a: [
        [4, 'say', 'done'],
        [5, 'say', 'bye'],
      ],
    },
    {},
    'pass @5: once any node writes "done" holds at rest',
  ],
  [
    'kind = "unreachable"\nthat = { timer = { arm = { console_match = { text = "ping" } }, after = "4ms", cancel = { console_match = { text = "pong" } } } }',
    {
      a: [
        [1, 'say', 'ping'],
        [10, 'say', 'ping'],
        [20, 'say', '-'],
      ],
      b: [[3, 'say', 'pong']],
    },
    {},
    'fail @14: a timer rang: 4ms after any node writes "ping"',
  ],
  [
    'kind = "unreachable"\nthat = { timer = { arm = { console_match = { text = "ping" } }, after = "4ms" } }',
    {
      a: [
        [1, 'say', 'ping'],
        [4, 'say', 'ping'],
        [7, 'say', 'ping'],
        [10, 'say', '-'],
      ],
    },
    {},
    'pass: never reached',
  ],
];

const OPERATORS: readonly Row[] = [
  [
    'kind = "always"\nwhen = { after = "10ms" }\nthat = { once = { console_match = { text = "up" } } }',
    {
      a: [
        [4, 'say', 'up'],
        [12, 'say', '-'],
      ],
    },
    {},
    'pass: held',
  ],
  [
    'kind = "always"\nwhen = { after = "10ms" }\nthat = { once = { console_match = { text = "up" } } }',
    { a: [[12, 'say', 'up']] },
    {},
    'fail @10: past 10ms: once any node writes "up" does not hold',
  ],
  [
    'kind = "always"\nwhen = { node_state = { is = "crashed" } }\nthat = { named = "node_alive:b" }',
    { a: [[12, 'say', 'up']] },
    {},
    'pass: vacuous: never any node is crashed',
  ],
  [
    'kind = "sometimes"\nunreached = "fail"\nthat = { console_match = { text = "won" } }',
    { a: [[1, 'say', 'lost']] },
    {},
    'fail: never in this run: any node writes "won"',
  ],
  [
    'kind = "reachable"\nunreached = "fail"\nthat = { console_match = { text = "won" } }',
    { a: [[1, 'say', 'won']] },
    {},
    'pass @1: first when a wrote "won"',
  ],
  [
    'kind = "reachable"\nunreached = "fail"\nthat = { console_match = { text = "won" } }',
    {
      a: [
        [1, 'say', 'lost'],
        [9, 'say', 'won'],
      ],
    },
    { virtualNsMax: 5 * MS },
    'inconclusive: never in this run: any node writes "won"',
  ],
  [
    'kind = "reachable"\nunreached = "fail"\nwhen = { after = "5ms" }\nthat = { console_match = { text = "won" } }',
    { a: [[1, 'say', 'won']] },
    {},
    'fail: never it is past 5ms',
  ],
  [
    'kind = "eventually"\nthat = { console_match = { text = "up" } }\nwithin = "10ms"',
    { a: [[10, 'say', 'up']] },
    {},
    'pass @10: a wrote "up"',
  ],
  [
    'kind = "eventually"\nthat = { console_match = { text = "up" } }\nwithin = "10ms"',
    { a: [[11, 'say', 'up']] },
    {},
    'fail @10: not in time: any node writes "up" within 10ms',
  ],
  [
    'kind = "eventually"\nthat = { console_match = { text = "up" } }',
    { a: [[11, 'say', 'down']] },
    {},
    'fail: never: any node writes "up"',
  ],
  [
    'kind = "eventually"\nthat = { console_match = { text = "up" } }\nwithin = "10ms"',
    { a: [[9, 'say', 'up']] },
    { virtualNsMax: 6 * MS },
    'inconclusive: the run ended before: any node writes "up" within 10ms',
  ],
  [
    'kind = "eventually"\nwhen = { console_match = { text = "ask" } }\nthat = { console_match = { text = "answer" } }\nwithin = "5ms"',
    {
      a: [
        [1, 'say', 'ask'],
        [2, 'say', 'ask'],
        [20, 'say', 'ask'],
      ],
      b: [
        [6, 'say', 'answer'],
        [24, 'say', 'answer'],
      ],
    },
    {},
    'pass: 3 of 3 times',
  ],
  [
    'kind = "eventually"\nwhen = { console_match = { text = "ask" } }\nthat = { console_match = { text = "answer" } }\nwithin = "5ms"',
    {
      a: [
        [1, 'say', 'ask'],
        [2, 'say', 'ask'],
      ],
      b: [
        [4, 'say', '-'],
        [7, 'say', 'answer'],
      ],
    },
    {},
    'fail @6: not in time: any node writes "answer" within 5ms since 0.001000000s, when a wrote "ask"',
  ],
  [
    'kind = "eventually"\nwhen = { console_match = { text = "ask" } }\nthat = { console_match = { text = "answer" } }\nwithin = "5ms"',
    { a: [[1, 'say', 'aks']] },
    {},
    'pass: vacuous: never any node writes "ask"',
  ],
  [
    'kind = "eventually"\nwhen = { node_state = { is = "crashed" } }\nthat = { named = "no_crashed_nodes" }',
    {},
    { events: [event('x', 20, { kind: 'crash', oneOf: [0] })] },
    'fail: never: not any node is crashed since 0.020000000s, when a is crashed',
  ],
  [
    'kind = "eventually"\nthat = { console_match = { text = "up" } }\nwithin = "10ms"',
    {
      a: [
        [4, 'say', 'up'],
        [29, 'say', 'up'],
      ],
    },
    { liveness: { atNs: 20 * MS } },
    'pass @29: a wrote "up"',
  ],
  [
    'kind = "eventually"\nthat = { once = { console_match = { text = "up" } } }\nwithin = "10ms"',
    {
      a: [
        [4, 'say', 'up'],
        [29, 'say', '-'],
      ],
    },
    { liveness: { atNs: 20 * MS } },
    'pass @20: at the start',
  ],
  [
    'kind = "eventually"\nwhen = { node_state = { is = "hung" } }\nthat = { console_match = { text = "up" } }\nwithin = "10ms"',
    {
      b: [
        [22, 'say', 'up'],
        [51, 'say', 'up'],
      ],
    },
    { ...HANG_A, liveness: { atNs: 40 * MS } },
    'fail @50: not in time: any node writes "up" within 10ms since 0.020000000s, when a is hung',
  ],
  [
    'kind = "after_quiescence"\nthat = { named = "no_crashed_nodes" }',
    { a: [[3, 'say', 'x']] },
    { virtualNsMax: 2 * MS },
    'inconclusive: the run ended before the world came to rest',
  ],
];

function label([property]: Row): string {
  return property.replaceAll('\n', ', ');
}

describe('CR-96: the predicates', () => {
  it.each(PREDICATES.map((row, index) => [`${index} ${label(row)}`, ...row] as const))(
    '%s',
    (_label, property, scripts, options, expected) => {
      expect(judge(property, scripts, options)).toBe(expected);
    },
  );
});

describe('CR-95: the operators', () => {
  it.each(OPERATORS.map((row, index) => [`${index} ${label(row)}`, ...row] as const))(
    '%s',
    (_label, property, scripts, options, expected) => {
      expect(judge(property, scripts, options)).toBe(expected);
    },
  );
});

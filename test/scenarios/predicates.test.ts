import { describe, expect, it } from 'vitest';
import { loadScenarioText } from '../../scenarios/index.ts';
import { MemoryFiles } from './memory-files.ts';

const HEAD = 'schema_version = 1\nname = "x"\n[guest.g]\nwasm = "g.wasm"\n';
const NODES = '[[node]]\nnames = ["a", "b"]\nguest = "g"\n';

/** What is wrong with a property, as `key | code | message → remedy`. */
function errors(property: string, until = 'quiescence'): string {
  const toml = `until = "${until}"\n${HEAD}${NODES}[[property]]\nname = "p"\n${property}\n`;
  const result = loadScenarioText(toml, 'x.toml', new MemoryFiles());
  if (result.ok) return 'accepted';
  return result.errors
    .map(({ place = '', code, message, remedy, exitCode }) => {
      expect(exitCode).toBe(5);
      const key = place.split(': property[0]')[1] ?? place;
      return `${key} | ${code} | ${message}${remedy === undefined ? '' : ` → ${remedy}`}`;
    })
    .join('\n');
}

const of = (predicate: string): string => `kind = "sometimes"\nthat = { ${predicate} }`;

const NAMES =
  'at, after, timer, network_match, console_match, guest_marker, io_pattern, node_state, ' +
  'assertion_state, quiescent, named, all_of, any_of, once, not, coverage_point, memory_predicate';

const ROWS: readonly (readonly [name: string, property: string, expected: string])[] = [
  [
    'CR-96: an unknown predicate, with what was meant',
    of('console_mach = { text = "x" }'),
    `.that.console_mach | scenario/unknown-key | unknown key "console_mach" (did you mean "console_match"?); allowed: ${NAMES}`,
  ],
  [
    'CR-96: an unknown key of a predicate',
    of('console_match = { txt = "x" }'),
    '.that.console_match.text | scenario/missing-key | the key is missing\n' +
      '.that.console_match.txt | scenario/unknown-key | unknown key "txt" (did you mean "text"?); allowed: nodes, text',
  ],
  ['a value of the wrong type', of('at = 5'), '.that.at | scenario/value | 5 is not a text'],
  [
    'a predicate that is no table',
    'kind = "always"\nthat = "quiescent"',
    '.that | scenario/value | "quiescent" is not a table',
  ],
  [
    'a word that is none of those',
    of('node_state = { is = "dead" }'),
    '.that.node_state.is | scenario/value | "dead" is not one of "started", "crashed", "hung", "exited"',
  ],
  [
    'two predicates in one table',
    of('at = "1s", quiescent = true'),
    '.that | scenario/predicate | a predicate has exactly one key, this has at, quiescent → join several by all_of or any_of',
  ],
  [
    'no predicate',
    'kind = "always"\nthat = { }',
    '.that | scenario/predicate | a predicate has exactly one key, this has none → join several by all_of or any_of',
  ],
  [
    'CR-108: memory, by name',
    of('memory_predicate = { place = "register", name = "rax", width = "u64", eq = 1 }'),
    '.that.memory_predicate | scenario/unsupported | memory_predicate is not to be had: the memory and registers of WebAssembly guests are not looked into → let the program say what it holds by a marker, and ask with guest_marker',
  ],
  [
    'CR-108: coverage, by name, wherever it stands',
    of('not = { all_of = [{ at = "1s" }, { coverage_point = "main" }] }'),
    '.that.not.all_of[1].coverage_point | scenario/unsupported | coverage_point is not to be had: WebAssembly guests do not report which code they reach → let the program assert "reachable" there, and ask with assertion_state',
  ],
  [
    'CR-108: 9p, by name',
    of('io_pattern = { io = "nine_p" }'),
    '.that.io_pattern.io | scenario/unsupported | nine_p is not to be had: no guest has 9p → use block_read, block_write or fsync: guests have files of their own',
  ],
  [
    'a node that there is not',
    of('node_state = { nodes = ["zeta"], is = "crashed" }'),
    '.that.node_state.nodes[0] | scenario/dangling | no node is called "zeta"; the nodes are a, b',
  ],
  [
    'a named truth that there is not',
    of('named = "no_crashed_node"'),
    '.that.named | scenario/predicate | "no_crashed_node" names nothing (did you mean "no_crashed_nodes"?); the names are no_crashed_nodes, quiescent, node_alive:<node>, node_crashed:<node>',
  ],
  [
    'a named truth of a node that there is not',
    of('named = "node_alive:zeta"'),
    '.that.named | scenario/dangling | no node is called "zeta"; the nodes are a, b',
  ],
  [
    'an empty pattern',
    of('console_match = { text = "" }'),
    '.that.console_match.text | scenario/predicate | it is empty',
  ],
  [
    'a payload that nothing is compared with',
    of('network_match = { text = "x" }'),
    '.that.network_match.text | scenario/predicate | match "any" compares with nothing',
  ],
  [
    'a comparison without a payload',
    of('network_match = { match = "prefix" }'),
    '.that.network_match.text | scenario/predicate | match "prefix" compares with 1 to 1000 bytes',
  ],
  [
    'half a byte',
    of('network_match = { match = "prefix", hex = "abc" }'),
    '.that.network_match.hex | scenario/predicate | "abc" is no row of bytes like "00ff"',
  ],
  [
    'two payloads',
    of('network_match = { match = "prefix", hex = "ab", text = "x" }'),
    '.that.network_match.hex | scenario/predicate | a payload is either "text" or "hex"',
  ],
  [
    'always of a moment',
    'kind = "always"\nthat = { any_of = [{ at = "1s" }, { console_match = { text = "x" } }] }',
    '.that | scenario/predicate | always needs what lasts, and this is true for moments only → say "once" around it, or "not", or use "sometimes"',
  ],
  ['always of what is not a moment', 'kind = "always"\nthat = { not = { at = "1s" } }', 'accepted'],
  [
    'a wait of nothing',
    'kind = "eventually"\nthat = { quiescent = true }\nwithin = "0s"',
    '.within | scenario/predicate | 0 ns is not within 1 to 9007199254740991',
  ],
  [
    'a wait of what does not wait',
    'kind = "always"\nthat = { named = "no_crashed_nodes" }\nwithin = "1s"',
    '.within | scenario/unknown-key | unknown key "within"; allowed: name, that, when, kind',
  ],
  [
    'a timer of nothing',
    of('timer = { arm = { at = "1s" }, after = "0s" }'),
    '.that.timer.after | scenario/predicate | a timer takes at least 1 ns',
  ],
  [
    'eventually of nothing at all',
    'kind = "eventually"',
    ' | scenario/missing-key | it has neither "that" nor "console": what must come',
  ],
  [
    'eventually of a line and of a predicate',
    'kind = "eventually"\nconsole = "x"\nwhen = { at = "1s" }',
    '.when | scenario/predicate | "console" says already what must come',
  ],
  [
    'nodes beside a predicate',
    'kind = "eventually"\nnodes = ["a"]\nthat = { at = "1s" }',
    '.nodes | scenario/predicate | predicates name their nodes themselves',
  ],
  [
    'predicates that nest too deep',
    of(`${'not = { '.repeat(8)}at = "1s"${' }'.repeat(8)}`),
    '.that.not.not.not.not.not.not.not.not | scenario/predicate | predicates nest deeper than 8',
  ],
  [
    'a predicate of too many parts',
    of(`any_of = [${'{ at = "1s" }, '.repeat(100)}]`),
    '.that.any_of[99] | scenario/predicate | it has more than 100 parts',
  ],
];

describe('what a property over moments may not be', () => {
  it.each(ROWS)('%s', (_name, property, expected) => {
    expect(errors(property)).toBe(expected);
  });

  it('CR-95: what holds at rest needs a run that comes to rest', () => {
    const rest = 'kind = "after_quiescence"\nthat = { named = "no_crashed_nodes" }';
    expect(errors(rest, 'property')).toBe(
      '.kind | scenario/predicate | a run until "property" ends before nothing can happen any more → say until = "quiescence", or "stopped"',
    );
    expect(errors(rest, 'stopped')).toBe('accepted');
  });
});

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Simulation } from '../../cli/simulation.ts';
import {
  buildGo,
  buildGuestFromPath,
  buildRust,
  compileAssemblyScript,
  ensureToolchains,
  guestPath,
} from '../../guests/index.ts';
import { LocalFiles, scenario } from '../../scenarios/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'athanor-assert-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The results of one node that runs the module; with a history of registers. */
function resultsOf(name: string, module: Uint8Array): string[] {
  writeFileSync(join(folder, `${name}.wasm`), module);
  const { def, images } = scenario('assertions')
    .guest('guest', { wasm: `${name}.wasm` })
    .node({ name: 'n', guest: 'guest', env: { ANTITHESIS_SDK_LOCAL_OUTPUT: '/sdk.jsonl' } })
    .property({ name: 'registers', kind: 'linearizable', model: 'register' })
    .build(new LocalFiles(folder));
  const simulation = new Simulation({ scenario: def, images, engine: new WasmEngine({}), seed: 1 });
  simulation.runUntil({});
  const result = simulation.finish();
  simulation.dispose();
  return result.properties.map(({ kind, name: what, verdict, detail }) => {
    return `${kind} ${what}: ${verdict}: ${detail}`;
  });
}

const C_PROGRAM = `
#include <athanor/sim.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  sim_always(true, "holds");
  sim_sometimes_with(true, "a \\"sign\\"", "{\\"n\\":1}");
  sim_sometimes(false, "rare");
  sim_reachable("here");
  FILE *sdk = fopen(getenv("ANTITHESIS_SDK_LOCAL_OUTPUT"), "w");
  fputs("{\\"antithesis_sdk\\":{\\"protocol_version\\":\\"1.1.0\\"}}\\n", sdk);
  fputs("{\\"antithesis_assert\\":{\\"hit\\":true,\\"must_hit\\":true,\\"assert_type\\":\\"always\\","
        "\\"display_type\\":\\"Always\\",\\"message\\":\\"foreign\\",\\"condition\\":false,"
        "\\"id\\":\\"foreign\\",\\"details\\":{\\"x\\":2}}}\\n", sdk);
  puts("op invoke c 1 write x 5\\nop ok c 1");
  fflush(stdout);
  puts("op invoke c 2 read x");
  fflush(stdout);
  puts("op ok c 2 5");
  return 0;
}
`;

const SCRIPT = `
import { always, declare_, operation, reachable, sometimes } from './assert';
always(true, 'holds');
sometimes(true, 'a "sign"', '{"n":1}');
declare_('sometimes', 'rare');
reachable('here');
operation('invoke', 'c', '1', 'write x 5');
operation('ok', 'c', '1');
operation('invoke', 'c', '2', 'read x');
operation('ok', 'c', '2', '5');
`;

const GO_PROGRAM = `package main

import "athanor/simnet/assert"

func main() {
	assert.Always(true, "holds", nil)
	assert.Sometimes(true, "a \\"sign\\"", assert.Details{"n": 1})
	assert.Declare("sometimes", "rare")
	assert.Reachable("here", nil)
	assert.Invoke("c", "1", "write", "x", "5")
	assert.Ok("c", "1")
	assert.Invoke("c", "2", "read", "x")
	assert.Ok("c", "2", "5")
}
`;

const RUST_PROGRAM = `
mod assert;
fn main() {
    assert::always(true, "holds", "");
    assert::sometimes(true, "a \\"sign\\"", "{\\"n\\":1}");
    assert::declare("sometimes", "rare");
    assert::reachable("here", "");
    assert::operation("invoke", "c", "1", &["write", "x", "5"]);
    assert::operation("ok", "c", "1", &[]);
    assert::operation("invoke", "c", "2", &["read", "x"]);
    assert::operation("ok", "c", "2", &["5"]);
}
`;

const RESULTS = [
  'no-trap no-trap: pass: no guest trapped',
  'linearizable registers: pass: 2 operations on 1 parts',
  'sometimes a "sign": pass: first by n with {"n":1}',
  'reachable here: pass: first by n',
  'always holds: pass: held 1 times',
  'sometimes rare: pass: vacuous: never reached in this run',
];

describe('CR-97: assertions and histories of compiled guests', () => {
  it('in C, and in the local output file of the public SDKs', async () => {
    writeFileSync(join(folder, 'main.c'), C_PROGRAM);
    const module = await buildGuestFromPath(join(folder, 'main.c'));
    expect(resultsOf('c', module)).toEqual([
      ...RESULTS.slice(0, 3),
      'always foreign: fail: does not hold for n with {"x":2}',
      ...RESULTS.slice(3, 5),
      'sometimes rare: pass: vacuous: reached 1 times, never true in this run',
    ]);
  }, 120_000);

  it('in AssemblyScript', async () => {
    const sdk = readFileSync(guestPath('sdk', 'assemblyscript', 'assert.as'));
    const files = [
      { path: 'main.ts', bytes: new TextEncoder().encode(SCRIPT) },
      { path: 'assert.ts', bytes: new Uint8Array(sdk) },
    ];
    const flags = ['--use', 'abort='];
    const module = await compileAssemblyScript({ files, entry: 'main.ts', flags });
    expect(resultsOf('assemblyscript', module)).toEqual(RESULTS);
  }, 120_000);

  describe('with the compilers of the system', () => {
    beforeAll(async () => {
      await ensureToolchains(['go', 'rust']);
    });

    it('in Go', async () => {
      const directory = join(folder, 'go');
      mkdirSync(directory);
      const module = `module asserting\n\ngo 1.21\n\nrequire athanor/simnet v0.0.0\n\n`;
      const sdk = `replace athanor/simnet => ./sdk\n`;
      writeFileSync(join(directory, 'go.mod'), module + sdk);
      writeFileSync(join(directory, 'main.go'), GO_PROGRAM);
      cpSync(guestPath('sdk', 'go'), join(directory, 'sdk'), { recursive: true });
      expect(resultsOf('go', await buildGo({ directory }))).toEqual(RESULTS);
    }, 120_000);

    it('in Rust', async () => {
      const directory = join(folder, 'rust');
      mkdirSync(directory);
      writeFileSync(join(directory, 'main.rs'), RUST_PROGRAM);
      cpSync(guestPath('sdk', 'rust', 'assert.rs'), join(directory, 'assert.rs'));
      const files = ['main.rs', 'assert.rs'];
      expect(resultsOf('rust', await buildRust({ directory, root: 'main.rs', files }))).toEqual(
        RESULTS,
      );
    }, 120_000);
  });
});

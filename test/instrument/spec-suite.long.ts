import { beforeAll, describe, expect, it } from 'vitest';
import { fetchSuite, type SuiteScript } from './spec-suite.ts';
import { openWabt, type Wabt } from './wabt.ts';
import { ScriptRunner, type ScriptReport } from './wast-runner.ts';
import { scriptCommands } from './wast-script.ts';

interface Totals {
  passed: number;
  stops: number;
  readonly failures: string[];
  readonly skipped: Map<string, number>;
  readonly table: string[];
}

/** A command that plain V8 fails as well says nothing about the pass: an outdated assertion. */
function runScript(wabt: Wabt, { text }: SuiteScript): ScriptReport {
  const commands = scriptCommands(text);
  const plain = new ScriptRunner(wabt, commands, 'plain');
  const runner = new ScriptRunner(wabt, commands, 'instrumented');
  for (const command of commands) {
    if (plain.run(command)) runner.run(command);
    else runner.skip('plain V8 does not do this');
  }
  return runner.report;
}

function runAll(wabt: Wabt, scripts: readonly SuiteScript[]): Totals {
  const totals: Totals = { passed: 0, stops: 0, failures: [], skipped: new Map(), table: [] };
  for (const script of scripts) {
    const { passed, failures, skipped, stopCount } = runScript(wabt, script);
    totals.passed += passed;
    totals.stops += stopCount;
    totals.failures.push(...failures.map((failure) => `${script.name}: ${failure}`));
    let skips = 0;
    for (const [reason, count] of skipped) {
      totals.skipped.set(reason, (totals.skipped.get(reason) ?? 0) + count);
      skips += count;
    }
    totals.table.push(
      `${script.name}: ${passed} passed, ${failures.length} failed, ${skips} skipped`,
    );
  }
  return totals;
}

describe('the WebAssembly core test suite, instrumented and stopped every few instructions', () => {
  let wabt: Wabt;
  let scripts: SuiteScript[];

  beforeAll(async () => {
    wabt = await openWabt();
    scripts = fetchSuite();
  });

  it('passes every assertion that the assembler and this engine know', () => {
    const { passed, stops, failures, skipped, table } = runAll(wabt, scripts);
    console.log(table.join('\n'));
    console.log(`${passed} passed, ${failures.length} failed, ${stops} stops`);
    for (const [reason, count] of skipped) console.log(`not run: ${count}: ${reason}`);
    expect(failures).toEqual([]);
    expect(passed).toBeGreaterThan(16_000);
    expect(stops).toBeGreaterThan(20_000);
  });
});

import { describe, expect, it } from 'vitest';
import { bundleOfRun } from '../../cli/bundle-write.ts';
import { openBundle } from '../../cli/bundle.ts';
import { exitCodeOfRun, runToEnd } from '../../cli/record.ts';
import { builtinScenarioText, loadScenarioText, LocalFiles } from '../../scenarios/index.ts';
import { decodeEvents, LOG_EVENTS, readWholeLog, SimError } from '../../sim/index.ts';
import { WasmEngine } from '../../wasm/index.ts';

describe('a run that the simulator gives up', () => {
  it('CR-106: leaves a bundle with its logs up to the last whole frame', () => {
    const text = builtinScenarioText('crash-restart') ?? '';
    const loaded = loadScenarioText(text, 'x.toml', new LocalFiles('.'));
    if (!loaded.ok) throw loaded.errors[0] as Error;
    const { def, images, sources } = loaded.scenario;
    let lines = 0;
    const record = runToEnd({
      scenario: def,
      images,
      engine: new WasmEngine(),
      onConsole: () => {
        // Stands for a defect of ours in the middle of a run.
        if (++lines === 300) throw new SimError({ code: 'crash/assertion', message: 'it broke' });
      },
    });
    expect([record.outcome.verdict, record.outcome.reason]).toEqual(['error', 'crash/assertion']);
    expect(exitCodeOfRun(record)).toBe(3);
    const bytes = bundleOfRun({ record, images, sources, lineage: null, thin: false });
    const bundle = openBundle(bytes);
    const events = [...decodeEvents(readWholeLog(bundle.events, LOG_EVENTS))];
    expect(events.length).toBeGreaterThan(1_000);
    expect(events[0]?.kind).toBe('guest/start');
  });
});

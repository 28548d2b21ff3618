import { SimError } from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { writeBundle } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { shellQuote } from '../host.ts';
import { bundledLeaf, bundledSuite } from './bundled-suite.ts';
import { LostRejections, runLeavesHonestly } from './lost-rejections.ts';
import { SuiteRunner } from './run-suite.ts';
import { sayLeaf, saySummary } from './say-leaves.ts';

/**
 * `sim replay BUNDLE --leaf N`: another leaf of the test that a bundle is of, from what the bundle holds
 * (FB-49). It is what `sim test --leaf N` runs, under the bundle's seed.
 */
export async function replayLeaf(
  bundle: Bundle,
  leaf: number,
  { path, context }: { readonly path: string; readonly context: Context },
): Promise<number> {
  const of = bundledLeaf(bundle);
  if (of === null) {
    throw new SimError({
      code: 'usage/leaf',
      message: 'the bundle is of no suite: it has no leaves',
      place: path,
      remedy: 'replay it without --leaf',
    });
  }
  const suite = await bundledSuite(bundle, of);
  const { seed } = bundle.manifest;
  const runner = new SuiteRunner({
    load: () => suite,
    makeEngine: () => makeEngine(context.artifactDir),
    seed,
    plans: true,
    machines: bundle.machines,
  });
  const test = suite.plan.tests.find(({ name }) => name === of.test);
  const leaves = test === undefined ? [] : runner.discover([test]);
  const wanted = leaves.filter(({ index }) => index === leaf);
  if (wanted.length === 0) {
    throw new SimError({
      code: 'verdict/no-leaf',
      message: `test "${of.test}" has no leaf ${leaf}: the last is ${leaves.length - 1}`,
      place: path,
      remedy: `the bundle is of leaf ${of.index}`,
    });
  }
  let exitCode = 0;
  const lost = new LostRejections();
  try {
    await lost.take();
    await runLeavesHonestly(runner, wanted, lost, ({ report, bundle: bytes }) => {
      const name = { name: report.test, seed, out: undefined, context };
      const file = bytes === null ? null : writeBundle(bytes, name);
      const again = `replay ${shellQuote(path)} --leaf ${leaf}`;
      sayLeaf({ ...report, position: leaf, bundle: file }, again, context);
      exitCode = saySummary([report], context);
    });
    return exitCode;
  } finally {
    lost.close();
  }
}

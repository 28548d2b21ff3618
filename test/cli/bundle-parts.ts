import { openBundle, type BundleParts } from '../../cli/bundle.ts';

/** The parts of a bundle that was read, to be changed and packed again. */
export function partsOf(file: Uint8Array): BundleParts {
  const bundle = openBundle(file);
  const { manifest } = bundle;
  return {
    ...bundle,
    checkpoint: bundle.checkpoint(),
    environment: '{}',
    manifest: {
      kind: manifest.kind,
      engine: manifest.engine,
      seed: manifest.seed,
      thin: manifest.thin,
      outcome: manifest.outcome,
      savepoint: manifest.savepoint,
      lineage: manifest.lineage,
    },
  };
}

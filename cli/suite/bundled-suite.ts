import { LocalFiles, openSpecs, packageRoot, type ScenarioFiles } from '../../scenarios/index.ts';
import { planDocument, SimError, type GuestDef, type PlanTree } from '../../sim/index.ts';
import type { Bundle } from '../bundle.ts';
import { loadCode, type Suite } from './suite.ts';

/** Which leaf of which suite a bundle is of. */
export interface BundledLeaf {
  readonly spec: string;
  readonly seed: number | null;
  readonly test: string;
  readonly index: number;
  /** The whole `plan.json`. */
  readonly plan: Readonly<Record<string, unknown>>;
}

/** What the bundle's plan says of its leaf; null for a bundle that is of no suite. */
export function bundledLeaf({ plan }: Pick<Bundle, 'plan'>): BundledLeaf | null {
  if (plan === null) return null;
  const document = JSON.parse(plan) as Readonly<Record<string, unknown>>;
  const leaf = document['leaf'] as { readonly test?: unknown; readonly index?: unknown } | null;
  const { spec_path: spec, seed } = document;
  if (typeof leaf?.test !== 'string' || typeof leaf.index !== 'number') return null;
  if (typeof spec !== 'string') return null;
  const { test, index } = leaf;
  return { spec, seed: typeof seed === 'number' ? seed : null, test, index, plan: document };
}

/** The plan of the spec that stands in the bundle, as this version makes it. */
export async function bundledPlan(bundle: Bundle, leaf: BundledLeaf): Promise<PlanTree> {
  return (await readModel(bundle, leaf)).plan;
}

/** The suite that a bundle is of, from what the bundle holds: no checkout is needed (FB-60). */
export async function bundledSuite(bundle: Bundle, leaf: BundledLeaf): Promise<Suite> {
  const { modelImage } = await openSpecs();
  const { model, plan } = await readModel(bundle, leaf);
  const image = modelImage(model);
  const own = new LocalFiles(packageRoot());
  // A service's image stands by its content; its path is what the spec calls it.
  const images = new Map<string, Uint8Array>();
  const files: ScenarioFiles = {
    read: (path) => {
      const found = images.get(path) ?? sourceOf(bundle, path);
      if (found !== undefined) return found;
      throw missing(path);
    },
    builtinGuest: (name) => own.builtinGuest(name),
  };
  const suite = loadCode({ model, plan, image, files });
  for (const { kind, name, options } of suite.declared) {
    const node = bundle.scenario.world.nodes.find((each) => each.name === name);
    if (kind !== 'service' || node === undefined) continue;
    for (const [path, digest] of partsOf(options['guest'] as DeclaredGuest, node.guest)) {
      const bytes = bundle.images.get(digest ?? '');
      if (typeof path === 'string' && bytes !== undefined) images.set(path, bytes);
    }
  }
  return suite;
}

type DeclaredGuest =
  { readonly wasm?: unknown; readonly machine?: Readonly<Record<string, unknown>> } | undefined;

/** What the spec calls the files that a guest is made of, and their content. */
function partsOf(
  declared: DeclaredGuest,
  guest: GuestDef,
): readonly (readonly [unknown, string | null])[] {
  if (guest.kind !== 'vm') return [[declared?.wasm, guest.image]];
  const { kernel, initrd } = declared?.machine ?? {};
  return [
    [kernel, guest.image],
    [initrd, guest.machine.initrd],
  ];
}

/** The first test or axis in which the bundle's plan is not the one of this version; or null (FB-58). */
export function planDrift({ plan }: BundledLeaf, now: PlanTree): string | null {
  const document = planDocument(now);
  const tests = (document['tests'] ?? []) as readonly Row[];
  const before = (Array.isArray(plan['tests']) ? plan['tests'] : []) as readonly Row[];
  for (const [index, test] of tests.entries()) {
    const old = before[index];
    if (old?.['name'] !== test['name']) return `test ${String(test['name'])}`;
    const [axes, oldAxes] = [axesOf(test), axesOf(old)];
    for (const [at, axis] of axes.entries()) {
      if (same(axis, oldAxes[at])) continue;
      return `test ${String(test['name'])}, axis ${String(axis['name'])}`;
    }
    if (!same(test, old)) return `test ${String(test['name'])}`;
  }
  if (before.length > tests.length) return `test ${String(before[tests.length]?.['name'])}`;
  const key = Object.keys(document).find((each) => !same(document[each], plan[each]));
  return key ?? null;
}

type Row = Readonly<Record<string, unknown>>;

function axesOf(test: Row): readonly Row[] {
  const { compositions } = test;
  if (!Array.isArray(compositions)) return [];
  return (compositions as readonly Row[]).flatMap(({ axes }) => {
    return Array.isArray(axes) ? (axes as readonly Row[]) : [];
  });
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

async function readModel(
  bundle: Bundle,
  { spec, seed }: BundledLeaf,
): Promise<Pick<Suite, 'model' | 'plan'>> {
  const { loadSpec, makePlan } = await openSpecs();
  const model = loadSpec(spec, (path) => {
    const bytes = sourceOf(bundle, path);
    if (bytes === undefined) throw missing(path);
    return new TextDecoder().decode(bytes);
  });
  return { model, plan: makePlan(model, seed) };
}

function sourceOf({ sources }: Bundle, path: string): Uint8Array | undefined {
  return sources.find(({ name }) => name === path)?.bytes;
}

function missing(path: string): SimError {
  return new SimError({
    code: 'bundle/content',
    message: `the bundle does not hold ${path}, which its suite needs`,
    place: `spec/${path}`,
    remedy: 'run the leaf beside the spec: sim test SPEC --leaf N',
  });
}

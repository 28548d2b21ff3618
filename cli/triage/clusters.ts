import type { Policy, TriageFinding } from './findings.ts';

/** Failures that are taken for one. */
export interface Cluster {
  readonly kind: TriageFinding['kind'];
  readonly scenario: string;
  readonly signature: string;
  count: number;
  /** The lowest seed. */
  firstSeed: number;
  readonly builds: Set<string>;
  /** The finding of the smallest bundle; null where no bundle is left. */
  smallest: TriageFinding | null;
  readonly bundles: string[];
}

/**
 * Groups failures, the most frequent first; ties by seed, then by signature. The same findings in
 * another order give the same clusters.
 */
export function clusterFindings(
  findings: readonly TriageFinding[],
  policy: Policy,
): readonly Cluster[] {
  const clusters = new Map<string, Cluster>();
  for (const finding of findings) {
    const { kind, scenario, seed, count, build, bundle } = finding;
    const signature = finding.signatures[policy];
    const key = clusterKey({ kind, scenario, signature });
    const cluster = clusters.get(key) ?? {
      kind,
      scenario,
      signature,
      count: 0,
      firstSeed: seed,
      builds: new Set<string>(),
      smallest: null,
      bundles: [],
    };
    clusters.set(key, cluster);
    cluster.count += count;
    cluster.firstSeed = Math.min(cluster.firstSeed, seed);
    if (build !== '') cluster.builds.add(build);
    if (bundle === null) continue;
    cluster.bundles.push(bundle.path);
    if (isSmaller(finding, cluster.smallest)) cluster.smallest = finding;
  }
  for (const { bundles } of clusters.values()) bundles.sort();
  return [...clusters.values()].sort((a, b) => {
    return b.count - a.count || a.firstSeed - b.firstSeed || compare(clusterKey(a), clusterKey(b));
  });
}

/** Equal for clusters of one failure. */
export function clusterKey({
  kind,
  scenario,
  signature,
}: Pick<Cluster, 'kind' | 'scenario' | 'signature'>): string {
  return `${kind}\n${scenario}\n${signature}`;
}

function isSmaller({ bundle }: TriageFinding, than: TriageFinding | null): boolean {
  if (bundle === null) return false;
  const other = than?.bundle ?? null;
  if (other === null || bundle.bytes < other.bytes) return true;
  return bundle.bytes === other.bytes && bundle.path < other.path;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

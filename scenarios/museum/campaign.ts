import { museumText } from './index.ts';

/** A fault that has nothing to do with any case, again and again while a run lasts. */
interface Noise {
  readonly name: string;
  /** On average once in so long. */
  readonly every: string;
  /** Further keys of the event, as lines of TOML; `NODES` stands for all nodes. */
  readonly keys: string;
}

/** What a campaign against a cluster does besides what a case needs: about 12 faults a second. */
const NOISE: readonly Noise[] = [
  { name: 'stall', every: '250ms', keys: 'do = "pause"\none_of = NODES\nfor = "6ms"' },
  { name: 'busy', every: '400ms', keys: 'do = "slow"\none_of = NODES\ncpu = "50%"\nfor = "40ms"' },
  { name: 'clock', every: '400ms', keys: 'do = "clock"\none_of = NODES\njump = "-30ms"' },
  { name: 'split', every: '600ms', keys: 'do = "isolate"\none_of = NODES\nfor = "10ms"' },
  {
    name: 'weather',
    every: '500ms',
    keys: 'do = "degrade"\nloss = "5%"\nextra_latency = "2ms"\nfor = "60ms"',
  },
];

/**
 * A case within a campaign of faults, most of which have nothing to do with it: what there is to
 * take away again when its failure is shrunk.
 */
export function campaignText(name: string, variant: 'bug' | 'twin'): string {
  const text = museumText(name, variant);
  const nodes = [...text.matchAll(/^names = \[(.*)\]$/gm)].map(([, names = '']) => names);
  const events = NOISE.map(({ name: noise, every, keys }) => {
    const told = keys.replaceAll('NODES', () => `[${nodes.join(', ')}]`);
    return `\n[[event]]\nname = "${noise}"\nat = "5ms"\nwithin = "10s"\nevery = "${every}"\n${told}\n`;
  });
  return text + events.join('');
}

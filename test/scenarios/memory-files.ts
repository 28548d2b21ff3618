import type { ScenarioFiles } from '../../scenarios/index.ts';
import { encodeUtf8, SimError } from '../../sim/index.ts';

/** Files of a test: every guest exists, a few sources do. */
export class MemoryFiles implements ScenarioFiles {
  private readonly sources: ReadonlyMap<string, string>;

  constructor(sources: Readonly<Record<string, string>> = {}) {
    this.sources = new Map(Object.entries(sources));
  }

  read(path: string): Uint8Array {
    if (path.endsWith('.wasm') && !path.includes('missing')) return encodeUtf8(`image ${path}`);
    const text = this.sources.get(path);
    if (text !== undefined) return encodeUtf8(text);
    const message = `cannot read "${path}": there is no such file`;
    throw new SimError({ code: 'input/missing', message });
  }

  builtinGuest(name: string): Uint8Array {
    return encodeUtf8(`built-in ${name}`);
  }
}

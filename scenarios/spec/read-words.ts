import type ts from 'typescript';
import { didYouMean } from '../suggest.ts';
import { showStatic, type DeclaredKind, type Static } from './static-value.ts';
import { specError } from './spec-error.ts';

export type Table = ReadonlyMap<string, Static>;

/** Reads a declaration's parts; each failure names what was expected, and where. */
export class WordReader {
  readonly what: string;
  readonly place: string;

  /** `what` is how messages call the declaration, for example `service("db")`. */
  constructor(what: string, place: string) {
    this.what = what;
    this.place = place;
  }

  fail(message: string, remedy: string): never {
    throw specError('value', `${this.what}: ${message}`, this.place, remedy);
  }

  text(value: Static | undefined, key: string): string {
    if (value?.kind === 'value' && typeof value.value === 'string' && value.value !== '') {
      return value.value;
    }
    const shown = value === undefined ? 'missing' : showStatic(value);
    return this.fail(`${key} is ${shown}, expected a text that stands in the spec`, `write ${key}`);
  }

  table(value: Static | undefined, keys: readonly string[]): Table {
    if (value?.kind !== 'table') {
      const shown = value === undefined ? 'missing' : showStatic(value);
      return this.fail(`its options are ${shown}, expected a table`, 'write { ... } in the spec');
    }
    for (const key of value.entries.keys()) {
      if (keys.includes(key)) continue;
      const meant = didYouMean(key, keys);
      this.fail(`unknown option "${key}"${meant}`, `there are ${keys.join(', ')}`);
    }
    return value.entries;
  }

  /** The values of a list; none where the option is absent. */
  list(value: Static | undefined, key: string): readonly Static[] {
    if (value === undefined) return [];
    if (value.kind === 'list') return value.items;
    return this.fail(`${key} is ${showStatic(value)}, not a list`, `write ${key}: [..]`);
  }

  /** The name that a reference or a text gives. */
  name(value: Static | undefined, kinds: readonly DeclaredKind[], key: string): string {
    if (value?.kind === 'declared' && kinds.includes(value.declared)) return value.name;
    return this.text(value, key);
  }

  function(value: Static | undefined, key: string): ts.SignatureDeclaration {
    if (value?.kind === 'function') return value.node;
    const shown = value === undefined ? 'missing' : showStatic(value);
    return this.fail(`${key} is ${shown}, expected a function`, 'write the body in the spec');
  }
}

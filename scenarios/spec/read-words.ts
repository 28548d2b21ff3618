import type ts from 'typescript';
import { parseSpan } from '../../sim/index.ts';
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
    const shown = value === undefined ? 'missing' : showStatic(value) || 'empty';
    return this.fail(`${key} is ${shown}, expected a text that stands in the spec`, `write ${key}`);
  }

  /** A span such as `10s`; null where it is left out. */
  span(value: Static | undefined, key: string): string | null {
    if (value === undefined) return null;
    const given = this.text(value, key);
    const span = parseSpan(given);
    if (!span.ok) this.fail(`${key}: ${span.why}`, 'write "10s", "250ms" or "5us"');
    return given;
  }

  /** A number that stands in the spec; null where it is left out. */
  whole(value: Static | undefined, key: string, most: number): number | null {
    if (value === undefined) return null;
    const given = value.kind === 'value' ? value.value : null;
    if (typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= most) {
      return given;
    }
    const expected = `expected a whole number up to ${most} that stands in the spec`;
    return this.fail(`${key} is ${showStatic(value)}, ${expected}`, `write ${key}: 1`);
  }

  /** What a test is to come to: `passes` or `fails`; null where it is left out. */
  expect(value: Static | undefined): string | null {
    if (value === undefined) return null;
    const given = this.text(value, 'expect');
    if (given === 'passes' || given === 'fails') return given;
    return this.fail(`expect is "${given}"`, 'write "passes" or "fails"');
  }

  /** Names that stand once each. */
  names(value: Static | undefined, kind: DeclaredKind, key: string): readonly string[] {
    const names = this.list(value, key).map((each) => this.name(each, [kind], key));
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) this.fail(`${key} has "${twice}" twice`, 'name each once');
    return names;
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

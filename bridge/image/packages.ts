import { assert } from '../../sim/index.ts';

/** A package of Debian, one version of it. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** Of the file, in hexadecimal. */
  readonly sha256: string;
  readonly byteCount: number;
  /** What it needs: of each list, one. */
  readonly depends: readonly (readonly string[])[];
  readonly provides: readonly string[];
}

/**
 * Packages that only serve installing, upgrading and removing others. Their scripts never run in
 * an image, so nothing follows them unless they are asked for by name.
 */
const INSTALLERS: ReadonlySet<string> = new Set([
  'adduser',
  'debconf',
  'dpkg',
  'init-system-helpers',
  'install-info',
  'lsb-base',
  'passwd',
  'sysvinit-utils',
  'ucf',
  'usrmerge',
]);

/** Reads the stanzas that `apt-cache show` prints (deb-control(5)). */
export function parseStanzas(text: string): readonly Package[] {
  return text
    .split(/\n\n+/)
    .filter((stanza) => stanza.trim() !== '')
    .map((stanza) => {
      const fields = new Map<string, string>();
      for (const match of stanza.matchAll(/^([A-Za-z0-9-]+): ?((?:.|\n[ \t])*)/gm)) {
        fields.set(match[1] as string, match[2] as string);
      }
      const field = (name: string): string => fields.get(name) ?? '';
      assert(/^[0-9a-f]{64}$/.test(field('SHA256')), 'a package has a SHA-256');
      return {
        name: field('Package'),
        version: field('Version'),
        sha256: field('SHA256'),
        byteCount: Number(field('Size')),
        depends: [...relations(field('Pre-Depends')), ...relations(field('Depends'))],
        provides: relations(field('Provides')).flat(),
      };
    });
}

/** Which of `all` are reached from `roots`, past neither installers nor `without`. */
export function closure(
  roots: readonly string[],
  all: readonly Package[],
  without: ReadonlySet<string>,
): Package[] {
  const byName = new Map<string, Package[]>();
  for (const each of all) {
    for (const name of [each.name, ...each.provides]) {
      const holders = byName.get(name);
      if (holders === undefined) byName.set(name, [each]);
      else holders.push(each);
    }
  }
  const asked = new Set(roots);
  const reached = new Set<Package>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const each of byName.get(name) ?? []) {
      const leftOut = without.has(each.name) || INSTALLERS.has(each.name);
      if (reached.has(each) || (leftOut && !asked.has(each.name))) continue;
      reached.add(each);
      for (const alternatives of each.depends) waiting.push(...alternatives);
    }
  }
  return [...reached];
}

/** `a (>= 1) | b, c:any` as `[[a, b], [c]]`. */
function relations(text: string): readonly (readonly string[])[] {
  return text
    .split(',')
    .map((group) => group.split('|').map((one) => /^[a-z0-9][a-z0-9+.-]*/.exec(one.trim())?.[0]))
    .map((group) => group.filter((name) => name !== undefined))
    .filter((group) => group.length > 0);
}

import { describe, expect, it } from 'vitest';
import { C_GUESTS, compileC, findGuest, readManifest, sha256Hex } from '../../guests/index.ts';
import { withEmptyCache } from './scratch.ts';

const manifest = readManifest();

describe('the npm C compiler', () => {
  it.each(C_GUESTS.map((guest) => guest.name))('builds the committed %s again', async (name) => {
    const artefact = await withEmptyCache(() => findGuest(name).build());
    const entry = manifest.artefacts.find((candidate) => candidate.name === name);
    expect(sha256Hex(artefact)).toBe(entry?.sha256);
  });

  it('compiles C++ with the standard library, the same bytes each time', async () => {
    const source = `#include <iostream>
#include <map>
#include <string>
int main() { std::map<std::string, int> m{{"a", 1}}; std::cout << m["a"] << std::endl; }`;
    const program = {
      files: [{ path: 'main.cc', bytes: new TextEncoder().encode(source) }],
      units: ['main.cc'],
    };
    const first = await withEmptyCache(() => compileC(program));
    expect(sha256Hex(first)).toBe(sha256Hex(await withEmptyCache(() => compileC(program))));
    expect(WebAssembly.validate(new Uint8Array(first))).toBe(true);
  });

  it('says in full what is wrong with a program, and caches nothing of it', async () => {
    const program = {
      files: [{ path: 'broken/main.c', bytes: new TextEncoder().encode('int main( {}') }],
      units: ['broken/main.c'],
    };
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(withEmptyCache(() => compileC(program))).rejects.toThrow(
        expect.objectContaining({
          code: 'guest/compile-failed',
          place: 'broken/main.c',
          message: expect.stringMatching(/broken\/main\.c:1:11: error: /) as string,
        }),
      );
    }
  });

  it('says so when a symbol is missing at the link', async () => {
    const source = 'int absent(void); int main(void) { return absent(); }';
    const program = {
      files: [{ path: 'main.c', bytes: new TextEncoder().encode(source) }],
      units: ['main.c'],
    };
    await expect(withEmptyCache(() => compileC(program))).rejects.toThrow(
      expect.objectContaining({
        code: 'guest/compile-failed',
        message: expect.stringContaining('undefined symbol: absent') as string,
      }),
    );
  });
});

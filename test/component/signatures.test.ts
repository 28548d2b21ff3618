import { describe, expect, it } from 'vitest';
import { hostImportName } from '../../wasm/component/link/host-import.ts';
import { takeApart } from '../../wasm/component/program.ts';
import { componentProgram } from '../../wasm/component/guest-program.ts';
import { HOST_INTERFACES } from '../../wasm/component/registry.ts';
import { ALL_IMPORTS, RUN_EXPORT, dummyComponent } from './encode.ts';

describe('the table of host functions', () => {
  it('has every function and resource of the published WASI 0.2 with its type, and no other', async () => {
    const { hosts } = takeApart(await dummyComponent([...ALL_IMPORTS, RUN_EXPORT]));
    const published = hosts.map((host) =>
      host.kind === 'function'
        ? `${hostImportName(host)}: ${host.type.text}`
        : hostImportName(host),
    );
    const wasi = HOST_INTERFACES.filter(({ name }) => name.startsWith('wasi:'));
    const offered = wasi.flatMap(({ name, functions, resources }) => [
      ...functions.map((one) => `${name}#${one.name}: ${one.type.text}`),
      ...resources.map((one) => `${one.name} drop`),
    ]);
    expect(published.sort()).toEqual(offered.sort());
    expect(offered).toHaveLength(140);
  });

  it('serves a component that imports everything', async () => {
    const program = componentProgram(await dummyComponent([...ALL_IMPORTS, RUN_EXPORT]));
    expect(program.hostNames).toContain('wasi:io/poll#poll');
    expect(program.modules).toHaveLength(1);
  });
});

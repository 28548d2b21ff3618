import { beforeAll, describe, expect, it } from 'vitest';
import { parse, transpile } from '@bytecodealliance/jco';
import { SimError } from '../../sim/index.ts';
import { componentProgram } from '../../wasm/component/guest-program.ts';
import { hostImportName } from '../../wasm/component/link/host-import.ts';
import { isComponent, takeApart } from '../../wasm/component/program.ts';
import { ALL_IMPORTS, RUN_EXPORT, dummyComponent, encodeComponent, parseWat } from './encode.ts';
import { builtComponent } from './programs.ts';

let hello: Uint8Array;

beforeAll(async () => {
  hello = await builtComponent('hello');
});

/** The error of an attempt, as code and message. */
function refusal(image: Uint8Array): string {
  try {
    componentProgram(image);
  } catch (error) {
    if (error instanceof SimError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

describe('taking a component apart', () => {
  it('tells components from modules', async () => {
    expect(isComponent(hello)).toBe(true);
    expect(isComponent(await parseWat('(module)'))).toBe(false);
    expect(isComponent(hello.subarray(0, 7))).toBe(false);
  });

  it('finds the core modules that jco finds', async () => {
    const { files } = await transpile(hello, {
      name: 'hello',
      nodejsCompat: false,
      base64Cutoff: 0,
    });
    const cores = Object.entries(files)
      .filter(([name]) => name.endsWith('.wasm'))
      .map(([, bytes]) => Buffer.from(bytes as Uint8Array).toString('base64'));
    const { modules } = takeApart(hello);
    const ours = modules.map(({ plain }) => Buffer.from(plain).toString('base64'));
    // jco keeps the two modules that are wires only.
    expect(cores).toHaveLength(ours.length + 2);
    expect(cores).toEqual(expect.arrayContaining(ours));
  });

  it('needs from the host what jco’s bindings import', async () => {
    const { imports } = await transpile(hello, {
      name: 'hello',
      nodejsCompat: false,
      base64Cutoff: 0,
    });
    const interfaces = new Set(
      takeApart(hello).hosts.map((host) => hostImportName(host).replace(/#.*/, '')),
    );
    // jco leaves out interfaces of which only a type is used.
    const named = imports.map((name) => name.replace('@bytecodealliance/preview2-shim/', 'wasi:'));
    expect(named.length).toBeGreaterThan(4);
    for (const name of named) {
      const [prefix, one] = name.replace(/@.*/, '').split('/');
      const found = [...interfaces].some(
        (each) => each === `${prefix}/${one}` || each.startsWith(`${prefix}/`),
      );
      expect([name, found]).toEqual([name, true]);
    }
  });

  it('links the adapter first, the program’s memory to all, and follows the trampolines', () => {
    const { modules, entry, initialisers } = takeApart(hello);
    expect(modules.map(({ definesMemory }) => definesMemory)).toEqual([false, true]);
    expect(entry).toEqual({
      main: { module: 0, name: 'wasi:cli/run@0.2.12#run' },
      returnsResult: true,
    });
    expect(initialisers).toEqual([]);
    const [adapter, main] = modules;
    const kinds = (module: typeof adapter): string[] => [
      ...new Set(module.imports.map(({ target }) => target.kind)),
    ];
    expect(kinds(main)).toEqual(['export', 'memory']);
    expect(kinds(adapter).sort()).toEqual(['export', 'host', 'memory']);
    for (const { binary } of modules) expect(WebAssembly.validate(binary.slice())).toBe(true);
    for (const { target } of main.imports) {
      if (target.kind === 'export') expect(target.module).toBe(0);
    }
  });

  it('calls an initialiser before the program', async () => {
    const component = await dummyComponent([RUN_EXPORT]);
    const { entries } = componentProgram(component);
    expect(entries.at(-1)).toMatchObject({ kind: 'main' });
  });
});

describe('what is not accepted', () => {
  it.each([
    ['nothing at all', '(component)', 'guest/entry', 'it exports nothing'],
    [
      'no memory',
      `(component (core module $m (func (export "f"))) (core instance $m (instantiate $m))
        (func (export "run") (canon lift (core func $m "f"))))`,
      'guest/feature',
      'a component with 0 memories',
    ],
    [
      'an import that is not WASI',
      `(component (import "my:own/thing@1.0.0" (instance $i (export "f" (func (param "a" u32)))))
        (core func $f (canon lower (func $i "f")))
        ${programOf('(func (param i32))')})`,
      'guest/import',
      'my:own/thing@1.0.0#f, which the host does not offer',
    ],
    [
      'a function that WASI does not have',
      `(component (import "wasi:cli/exit@0.2.0" (instance $i (export "leave" (func (param "a" u32)))))
        (core func $f (canon lower (func $i "leave")))
        ${programOf('(func (param i32))')})`,
      'guest/import',
      'wasi:cli/exit@0.2.0#leave, which the host does not offer',
    ],
    [
      'another type than WASI has',
      `(component
        (import "wasi:cli/exit@0.2.0" (instance $i (export "exit-with-code" (func (param "a" u32)))))
        (core func $f (canon lower (func $i "exit-with-code")))
        ${programOf('(func (param i32))')})`,
      'guest/import',
      'wasi:cli/exit#exit-with-code as func(u32); the host offers func(u8)',
    ],
    [
      'WASI 0.3',
      `(component
        (import "wasi:cli/exit@0.3.0" (instance $i (export "exit-with-code" (func (param "a" u8)))))
        (core func $f (canon lower (func $i "exit-with-code")))
        ${programOf('(func (param i32))')})`,
      'guest/import',
      'wasi:cli/exit#exit-with-code of version 0.3.0, which the host does not offer',
    ],
    [
      'a core type that is not the lowered one',
      `(component
        (import "wasi:cli/exit@0.2.0" (instance $i (export "exit-with-code" (func (param "a" u8)))))
        (core func $f (canon lower (func $i "exit-with-code")))
        ${programOf('(func (param i64))')})`,
      'guest/malformed',
      'imports a function as (i64) -> () and is given (i32) -> ()',
    ],
    [
      'two memories',
      `(component ${programOf('(func)', false)}
        (core module $n (memory 1)) (core instance (instantiate $n)))`,
      'guest/feature',
      'a component with 2 memories',
    ],
    [
      'a component that calls another',
      `(component ${programOf('(func)', false)}
        (component $inner (import "run" (func $r)) (core func (canon lower (func $r))))
        (instance (instantiate $inner (with "run" (func $run)))))`,
      'guest/feature',
      'a component that calls another (composition)',
    ],
    [
      'no entry',
      `(component (core module $m (memory 1) (func (export "f")))
        (core instance $m (instantiate $m))
        (func (export "serve") (canon lift (core func $m "f"))))`,
      'guest/entry',
      'it exports serve',
    ],
    [
      'an entry with parameters',
      `(component (core module $m (memory 1) (func (export "f") (param i32)))
        (core instance $m (instantiate $m))
        (func (export "run") (param "a" u32) (canon lift (core func $m "f"))))`,
      'guest/entry',
      "the component's entry is func(u32)",
    ],
    [
      'a shared table with more than wires in it',
      `(component ${programOf('(func)', false)}
        (core module $a (table (export "t") 1 funcref) (func (export "g") (result i32) i32.const 1))
        (core instance $a (instantiate $a))
        (core module $b (import "a" "t" (table 1 funcref)) (func))
        (core instance (instantiate $b (with "a" (instance $a)))))`,
      'guest/feature',
      'core modules that share a table',
    ],
  ])('%s', async (_, source, code, message) => {
    const found = refusal(await assemble(source));
    expect(found).toContain(`${code}: `);
    expect(found).toContain(message);
  });

  it('too many core instances', async () => {
    const many = Array.from({ length: 9 }, () => '(core instance (instantiate $n))').join('\n');
    const found = refusal(await parse(`(component (core module $n) ${many})`));
    expect(found).toBe(
      'guest/limit: the module has too many or too large core instances: the limit is 8',
    );
  });

  it('types that grow with each definition', async () => {
    let source = '(type $t0 (tuple u8 u8))';
    for (let at = 1; at < 40; at++) source += `(type $t${at} (tuple $t${at - 1} $t${at - 1}))`;
    const found = refusal(await parse(`(component ${source})`));
    expect(found).toContain('guest/limit: the module has too many or too large parts in a type');
  });

  it('nesting without end', async () => {
    // Nested components that are never instantiated are never read: nothing to refuse there.
    const source = '(component '.repeat(30) + ')'.repeat(30);
    expect(refusal(await parse(source))).toContain('guest/entry');
    const type = '(type (component '.repeat(30) + '))'.repeat(30);
    expect(refusal(await parse(`(component ${type})`))).toContain(
      'guest/limit: the module has too many or too large nested components',
    );
  });
});

/** A program whose module imports one function, if any, as that type. */
function programOf(type: string, imports = true): string {
  const given = imports ? '(with "h" (instance (export "f" (func $f))))' : '';
  const asked = imports ? `(import "h" "f" ${type})` : '';
  return `(core module $m ${asked} (memory 1) (func (export "run")))
    (core instance $m (instantiate $m ${given}))
    (func $run (export "run") (canon lift (core func $m "run")))`;
}

/** Assembles without validation: some of these are not valid. */
async function assemble(source: string): Promise<Uint8Array> {
  return parse(source);
}

describe('damaged components', () => {
  it('cut anywhere: a typed error', () => {
    // Each byte of the imports' types at the start; further on one in some hundred.
    for (let length = 0; length < hello.length; length += length < 1000 ? 1 : 997) {
      expect(refusal(hello.subarray(0, length))).toMatch(/^guest\//);
    }
  });

  it('with bytes changed: accepted, or a typed error; never anything else', () => {
    let state = 12_345;
    const random = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((state / 2 ** 32) * limit);
    };
    const outcomes = new Map<string, number>();
    for (let count = 0; count < 300; count++) {
      const bytes = hello.slice();
      // Most of the file is code of core modules: the wiring stands at its start and its end.
      const region = random(2) === 0 ? random(9000) : bytes.length - 1 - random(12_000);
      bytes[Math.max(8, region)] ^= 1 << random(8);
      const outcome = refusal(bytes).replace(/:.*/s, '');
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    expect([...outcomes.keys()].sort()).toEqual(
      expect.arrayContaining(['accepted', 'guest/malformed']),
    );
  });
});

describe('encoders of other kinds', () => {
  it('a module with its own imports of WASI, without adapter', async () => {
    const core = await parseWat(`(module
      (import "wasi:cli/exit@0.2.12" "exit-with-code" (func $exit (param i32)))
      (memory (export "memory") 1)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
      (func (export "wasi:cli/run@0.2.12#run") (result i32)
        (call $exit (i32.const 7)) (i32.const 0)))`);
    const component = await encodeComponent(core, [...ALL_IMPORTS, RUN_EXPORT]);
    const { modules, hosts } = takeApart(component);
    expect(modules).toHaveLength(1);
    expect(hosts.map(hostImportName)).toEqual(['wasi:cli/exit#exit-with-code']);
  });
});

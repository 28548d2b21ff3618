import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { componentEmbed, componentNew } from '@bytecodealliance/jco';
import wabt from 'wabt';

/** The WASI packages as the Bytecode Alliance publishes them with jco, newest first. */
const VERSION = '0.2.12';
const PACKAGES = ['io', 'clocks', 'random', 'filesystem', 'sockets', 'cli'];

function jcoDirectory(): string {
  const entry = createRequire(import.meta.url).resolve('@bytecodealliance/jco');
  return entry.slice(0, entry.lastIndexOf('/dist/'));
}

/** A published package as a nested one, its unstable parts included. */
function nestedPackage(name: string): string {
  const path = join(
    jcoDirectory(),
    'lib',
    'wit',
    'builtin',
    VERSION,
    `wasi-${name}`,
    'package.wit',
  );
  const text = readFileSync(path, 'utf8').replaceAll(/@unstable\([^)]*\)/g, '');
  return `${text.replace(/package (wasi:[a-z]+@[0-9.]+);/, 'package $1 {')}\n}\n`;
}

/** A WIT text: a world with these items, and all of WASI 0.2 behind it. */
export function worldText(items: readonly string[]): string {
  const world = `package test:guest;\nworld guest {\n${items.join('\n')}\n}\n`;
  return world + PACKAGES.map(nestedPackage).join('');
}

/** All interfaces of WASI 0.2 as a world's imports. */
export const ALL_IMPORTS = [`include wasi:cli/imports@${VERSION};`];
export const RUN_EXPORT = `export wasi:cli/run@${VERSION};`;

const TEXT = new Map<readonly string[], string>();

/** Makes a component of a core module for a world, as toolchains do. */
export async function encodeComponent(
  core: Uint8Array,
  items: readonly string[],
): Promise<Uint8Array> {
  const witSource = TEXT.get(items) ?? worldText(items);
  TEXT.set(items, witSource);
  const embedded = await componentEmbed({ binary: core, witSource, world: 'guest' });
  return componentNew(embedded, []);
}

/** A component of a program that uses preview 1 besides: jco's adapter makes it a command. */
export async function encodeCommand(
  core: Uint8Array,
  items: readonly string[],
): Promise<Uint8Array> {
  const witSource = worldText(items);
  const embedded = await componentEmbed({ binary: core, witSource, world: 'guest' });
  const adapter = readFileSync(join(jcoDirectory(), 'lib', 'wasi_snapshot_preview1.command.wasm'));
  return componentNew(embedded, [['wasi_snapshot_preview1', adapter]]);
}

/** A component that imports everything that a world does, each function at least named. */
export async function dummyComponent(items: readonly string[]): Promise<Uint8Array> {
  const witSource = worldText(items);
  const core = await componentEmbed({ witSource, world: 'guest', dummy: true });
  return componentNew(core, []);
}

export async function parseWat(source: string): Promise<Uint8Array> {
  const assembler = await wabt();
  return Uint8Array.from(assembler.parseWat('test.wat', source).toBinary({}).buffer);
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileC, componentFromModule, guestPath } from '../../guests/index.ts';
import { sha256, type GuestPort } from '../../sim/index.ts';
import { componentProgram } from '../../wasm/component/guest-program.ts';
import { preview1Program } from '../../wasm/preview1/program.ts';
import { CodeStore } from '../../wasm/runtime/code-store.ts';
import { prepareProgram } from '../../wasm/runtime/prepare.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';
import { WasmGuest } from '../../wasm/runtime/wasm-guest.ts';
import { ALL_IMPORTS, encodeCommand } from './encode.ts';

/** A C guest of ours as a component: its committed module and the preview 1 adapter. */
export async function builtComponent(name: string): Promise<Uint8Array> {
  const module = readFileSync(guestPath('built', `${name}.wasm`));
  return Uint8Array.from(await componentFromModule(Uint8Array.from(module)));
}

const PROGRAMS = join(import.meta.dirname, 'programs');

/** The TCP program's core module, compiled with the toolchain that npm brings. */
export async function compileTcp(): Promise<Uint8Array> {
  const bytes = readFileSync(join(PROGRAMS, 'tcp.c'));
  return compileC({ files: [{ path: 'tcp.c', bytes }], units: ['tcp.c'] });
}

/** The TCP program as a component; its module is committed, `rebuild.long.ts` compiles it again. */
export function tcpComponent(): Promise<Uint8Array> {
  return encodeCommand(tcpModule(), ALL_IMPORTS);
}

export function tcpModule(): Uint8Array {
  return new Uint8Array(readFileSync(join(PROGRAMS, 'tcp.wasm')));
}

const PREPARED = new Map<string, PreparedProgram>();

/** Instrumented once for all tests of a file. */
export function prepareComponent(component: Uint8Array): PreparedProgram {
  const digest = sha256(component);
  const known = PREPARED.get(digest);
  if (known !== undefined) return known;
  const prepared = prepareProgram(componentProgram(component), 1024, new CodeStore(null, []));
  PREPARED.set(digest, prepared);
  return prepared;
}

/** A C guest of ours as the preview 1 module that it is. */
export function preparePlain(name: string): PreparedProgram {
  const module = Uint8Array.from(readFileSync(guestPath('built', `${name}.wasm`)));
  return prepareProgram(preview1Program(module), 1024, new CodeStore(null, []));
}

export function spawn(prepared: PreparedProgram, port: GuestPort): WasmGuest {
  return new WasmGuest(prepared, port, 1000);
}

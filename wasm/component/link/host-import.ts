import type { FunctionType } from '../abi/function.ts';
import type { StringEncoding } from '../abi/transfer.ts';

/** A function exported by a core module of the program. */
export interface CoreFunctionName {
  readonly module: number;
  readonly name: string;
}

/** What a core module imports from the host, as plain data (a type counts as its text). */
export type HostImport =
  | {
      readonly kind: 'function';
      /** With its version, as the component names it. */
      readonly interfaceName: string;
      readonly name: string;
      readonly type: FunctionType;
      readonly encoding: StringEncoding;
      readonly realloc: CoreFunctionName | null;
      /** Where the component defines it. */
      readonly offset: number;
    }
  | {
      readonly kind: 'resource';
      readonly operation: 'new' | 'drop' | 'rep';
      readonly resource: string;
      /** Of a resource that the component defines. */
      readonly destructor: CoreFunctionName | null;
      readonly offset: number;
    };

/** A name for the log and for errors: `wasi:io/streams#[method]input-stream.read`. */
export function hostImportName(host: HostImport): string {
  if (host.kind === 'resource') return `${host.resource} ${host.operation}`;
  const at = host.interfaceName.indexOf('@');
  const base = at < 0 ? host.interfaceName : host.interfaceName.slice(0, at);
  return `${base}#${host.name}`;
}

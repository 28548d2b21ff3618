import { SimError } from '../../sim/index.ts';
import type { GuestProgram, ProgramEntry, ProgramModule } from '../runtime/program.ts';
import { planLowering, type Lowering } from './abi/function.ts';
import type { StringEncoding } from './abi/transfer.ts';
import { ComponentHost } from './component-host.ts';
import type { HostResourceRow } from './host-table.ts';
import { hostImportName, type CoreFunctionName, type HostImport } from './link/host-import.ts';
import { takeApart } from './program.ts';
import { hostFunction, hostResource, type OfferedFunction } from './registry.ts';

/** An import of a component together with what serves it. */
export type BoundImport =
  | {
      readonly kind: 'function';
      readonly row: OfferedFunction;
      readonly lowering: Lowering;
      readonly encoding: StringEncoding;
      readonly realloc: CoreFunctionName | null;
    }
  | {
      readonly kind: 'resource';
      readonly operation: 'new' | 'drop' | 'rep';
      readonly resource: string;
      /** Null for a resource that the component defines. */
      readonly row: HostResourceRow | null;
      readonly destructor: CoreFunctionName | null;
    };

/** What each instance of a component shares. */
export interface BoundProgram {
  readonly imports: readonly BoundImport[];
  readonly hostNames: readonly string[];
  readonly returnsResult: boolean;
}

/**
 * A component (WASI 0.2) as a guest program. Throws SimError `guest/…` for what `takeApart` refuses
 * and `guest/import` for an import that the host does not offer, or offers with another type.
 */
export function componentProgram(image: Uint8Array): GuestProgram {
  const { modules, hosts, initialisers, entry } = takeApart(image);
  const bound: BoundProgram = {
    imports: hosts.map(bindImport),
    hostNames: hosts.map(hostImportName),
    returnsResult: entry.returnsResult,
  };
  return {
    kind: 'component',
    modules: modules.map((module): ProgramModule => ({
      binary: module.binary,
      sharedState: module.definesMemory ? 'define' : 'import',
      // A host function can find that the guest's time is up; what calls one can be stopped.
      suspends: () => true,
      imports: module.imports,
    })),
    entries: [
      ...initialisers.map((one) => programEntry(one, 'other')),
      programEntry(entry.main, 'main'),
    ],
    hostNames: bound.hostNames,
    makeHost: (context) => new ComponentHost(bound, context),
  };
}

function programEntry(
  { module, name }: CoreFunctionName,
  kind: ProgramEntry['kind'],
): ProgramEntry {
  return { module, exportName: name, kind };
}

function bindImport(host: HostImport): BoundImport {
  const name = hostImportName(host);
  if (host.kind === 'resource') {
    const { operation, resource, destructor } = host;
    const local = resource.startsWith('#');
    const row = local ? null : hostResource(resource);
    if (row === undefined) throw notOffered(host, `the resource ${resource}`);
    return { kind: 'resource', operation, resource, row, destructor };
  }
  const row = hostFunction(name);
  if (row === undefined) throw notOffered(host, `${host.interfaceName}#${host.name}`);
  const version = host.interfaceName.slice(host.interfaceName.indexOf('@') + 1);
  if (!row.versions.test(version)) throw notOffered(host, `${name} of version ${version}`);
  if (row.type.text !== host.type.text) {
    throw new SimError({
      code: 'guest/import',
      message: `the component imports ${name} as ${host.type.text}; the host offers ${row.type.text}`,
      place: `offset ${host.offset}`,
      remedy: 'build the component against the published WASI 0.2 interfaces',
    });
  }
  const { encoding, realloc } = host;
  return { kind: 'function', row, lowering: planLowering(row.type), encoding, realloc };
}

function notOffered(host: HostImport, what: string): SimError {
  return new SimError({
    code: 'guest/import',
    message: `the component imports ${what}, which the host does not offer`,
    place: `offset ${host.offset}`,
    remedy: 'build it for world wasi:cli/command of WASI 0.2 only (see docs/wasi-preview2.md)',
  });
}

import { SimError } from '../../sim/index.ts';
import { functionImports, type FunctionImport } from '../binary/imports.ts';
import { KIND, KIND_NAMES, type Import } from '../binary/module.ts';
import { parseModule } from '../binary/parse.ts';
import type { HostContext } from '../runtime/host-context.ts';
import type { HostFunction, HostSet } from '../runtime/host-set.ts';
import type { GuestProgram, ProgramEntry, ProgramImport } from '../runtime/program.ts';
import { CALL_SIGNATURE } from './call.ts';
import { ALL_FUNCTIONS, type FunctionRow } from './functions.ts';
import { LISTENERS_VARIABLE, parseListeners } from './listeners.ts';
import { OWN_MODULE, Preview1, WASI_MODULE } from './preview1.ts';

/** A host function that a program imports: a row of the table, or one of ours. */
type Bound = FunctionRow | 'marker' | 'call';

/**
 * A core module (WASI preview 1) as a guest program. Throws SimError `guest/…` for a module that is
 * malformed, imports what the host does not offer, or has no entry.
 */
export function preview1Program(image: Uint8Array): GuestProgram {
  const module = parseModule(image);
  const types = new Map(functionImports(image).map((each) => [key(each), each]));
  const bound: Bound[] = [];
  const imports = module.imports.map((each): ProgramImport => {
    const { module: from, name } = each;
    if (each.kind === KIND.memory) return { module: from, name, target: { kind: 'memory' } };
    const type = types.get(key(each));
    if (each.kind !== KIND.function || type === undefined) throw notOffered(each);
    const index = bound.push(bindImport(type, each)) - 1;
    return { module: from, name, target: { kind: 'host', index } };
  });
  const functions = module.exports.filter(({ kind }) => kind === KIND.function);
  return {
    kind: 'preview1',
    // A host function can find that the guest's time is up: whatever calls one can be stopped.
    modules: [{ binary: image, sharedState: 'define', suspends: () => true, imports }],
    entries: entriesOf(functions.map(({ name }) => name)),
    hostNames: bound.map((each) => (typeof each === 'string' ? each : each.name)),
    makeHost: (context) => new Preview1Set(context, bound),
  };
}

function key({ module, name }: { readonly module: string; readonly name: string }): string {
  return `${module}\n${name}`;
}

/** A command has `_start`; a reactor is initialised, and has then nothing to do. */
function entriesOf(names: readonly string[]): ProgramEntry[] {
  if (names.includes('_start')) return [{ module: 0, exportName: '_start', kind: 'main' }];
  throw new SimError({
    code: 'guest/entry',
    message: names.includes('_initialize')
      ? 'the module is a reactor: it exports _initialize, but no _start'
      : 'the module does not export a function _start',
    remedy: 'link it as a command (with a main function)',
  });
}

function bindImport(type: FunctionImport, each: Import): Bound {
  const signature = `${letters(type.parameters)}:${letters(type.results)}`;
  const { module, name } = each;
  if (module === OWN_MODULE && name === 'marker') {
    if (signature === 'ii:') return 'marker';
    throw otherType(each, signature, ['ii:']);
  }
  if (module === OWN_MODULE && name === 'call') {
    if (signature === CALL_SIGNATURE) return 'call';
    throw otherType(each, signature, [CALL_SIGNATURE]);
  }
  const forms = module === WASI_MODULE ? ALL_FUNCTIONS.filter((row) => row.name === name) : [];
  if (forms.length === 0) throw notOffered(each);
  const found = forms.find((row) => signatureOf(row) === signature);
  if (found === undefined) throw otherType(each, signature, forms.map(signatureOf));
  return found;
}

function signatureOf({ parameters, returnsErrno }: FunctionRow): string {
  return `${parameters}:${returnsErrno ? 'i' : ''}`;
}

const WORDS: Readonly<Record<string, string>> = { i: 'i32', I: 'i64', f: 'f32', F: 'f64' };
const LETTERS: Readonly<Record<string, string>> = { i32: 'i', i64: 'I', f32: 'f', f64: 'F' };

function letters(types: readonly string[]): string {
  return types.map((type) => LETTERS[type] ?? '?').join('');
}

function notOffered(each: Import): SimError {
  const { module, name } = each;
  return new SimError({
    code: 'guest/import',
    message:
      `the module imports the ${KIND_NAMES[each.kind as 0]} ${module}.${name}, ` +
      'which the host does not offer',
    place: `offset ${each.start}`,
    remedy: `build for wasm32-wasip1: functions come from ${WASI_MODULE}`,
  });
}

/** Types in the text format's words: `(i32, i64) -> i32`. */
function describe(signature: string): string {
  const words = (text: string): string => Array.from(text, (each) => WORDS[each] ?? '?').join(', ');
  const [parameters = '', results = ''] = signature.split(':');
  return `(${words(parameters)}) -> ${results === '' ? 'nothing' : words(results)}`;
}

function otherType(each: Import, found: string, expected: readonly string[]): SimError {
  return new SimError({
    code: 'guest/import',
    message:
      `the module imports ${each.module}.${each.name} with another type: expected ` +
      `${expected.map(describe).join(' or ')}, found ${describe(found)}`,
    place: `offset ${each.start}`,
  });
}

/** The host functions of one guest, in the order of its imports. */
class Preview1Set implements HostSet {
  readonly functions: readonly HostFunction[];
  private readonly preview1: Preview1;

  constructor(context: HostContext, bound: readonly Bound[]) {
    const asked = context.port.env.find(([name]) => name === LISTENERS_VARIABLE);
    const listeners = asked === undefined ? [] : parseListeners(asked[1]);
    const preview1 = new Preview1(context, { listeners });
    this.preview1 = preview1;
    this.functions = bound.map((each) => {
      if (each === 'marker') return preview1.bindMarker();
      return each === 'call' ? preview1.bindCall() : preview1.bind(each);
    });
  }

  attach(): void {
    // Host functions see the memory through the context.
  }

  /** `_start` has no result: returning is success. */
  exitCode(): number {
    return 0;
  }

  capture(): unknown {
    return this.preview1.capture();
  }

  restore(state: unknown): void {
    this.preview1.restore(state);
  }
}

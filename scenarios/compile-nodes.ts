import {
  compareText,
  encodeUtf8,
  FILE_BYTES_MAX,
  NODE_NAME,
  NODES_MAX,
  SimError,
  type FileDef,
  type GuestDef,
  type NodeDef,
} from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import { compileNodeClock } from './compile-faults.ts';
import { compileDisk } from './compile-disk.ts';
import { compileOwnGuest, GUEST_SOURCES } from './compile-guest.ts';
import { compileMachine } from './compile-machine.ts';
import type { FileFields, NodeFields, ScenarioFields } from './schema.ts';
import { didYouMean } from './suggest.ts';
import type { KeyPath } from './toml.ts';

/** A node's name and the table that declares it. */
interface Declared {
  readonly name: string;
  readonly fields: NodeFields;
  readonly index: number;
}

/** The nodes in declared order, with their guests loaded; the context learns their names. */
export function compileNodes(fields: ScenarioFields, context: CompileContext): NodeDef[] {
  const guests = compileGuests(fields, context);
  context.guests = guests;
  const declared = declare(fields.node, context);
  context.setNodeNames(declared.map(({ name }) => name));
  const files = fields.node.map((node, index) => compileFiles(node, ['node', index], context));
  return declared.flatMap(({ name, fields: node, index }) => {
    const guest = guests.get(node.guest);
    if (guest === undefined) return [];
    const args = node.args.map((arg, at) => {
      return substitute(arg, name, declared, ['node', index, 'args', at], context);
    });
    return [
      {
        name,
        guest,
        args,
        env: compileEnv(node.env, ['node', index, 'env'], context),
        files: files[index] ?? [],
        nsPerThousandInstructions: node.ns_per_thousand_instructions,
        memoryPagesMax: node.memory_pages_max,
        startNs: node.start,
        ...compileNodeClock(node),
        ...compileDisk(node.disk, fields.disk),
      },
    ];
  });
}

function compileGuests(fields: ScenarioFields, context: CompileContext): Map<string, GuestDef> {
  const guests = new Map<string, GuestDef>();
  for (const [label, guest] of Object.entries(fields.guest)) {
    const { wasm, builtin } = guest;
    const path = ['guest', label];
    if (GUEST_SOURCES.filter((key) => guest[key] !== undefined).length !== 1) {
      const why =
        'a guest has one of "wasm" (a file), "builtin" (a name), "record" or "model" (files), "machine" (a table)';
      context.fail('guest', path, why);
      continue;
    }
    if (guest.machine !== undefined) {
      guests.set(label, compileMachine(label, guest.machine, context));
      continue;
    }
    const own = compileOwnGuest(label, guest, context);
    if (own !== null || (wasm ?? builtin) === undefined) {
      const image = context.addImage(own?.bytes ?? new Uint8Array(0));
      guests.set(label, { kind: own?.kind ?? 'wasm', image, label });
      continue;
    }
    const bytes = attempt(context, [...path, wasm === undefined ? 'builtin' : 'wasm'], () => {
      return wasm === undefined
        ? context.files.builtinGuest(builtin ?? '')
        : context.files.read(wasm);
    });
    // A guest that cannot be read is still declared: its nodes are checked all the same.
    const image = context.addImage(bytes ?? new Uint8Array(0));
    guests.set(label, { kind: 'wasm', image, label });
  }
  const labels = Object.keys(fields.guest);
  fields.node.forEach((node, index) => {
    if (labels.includes(node.guest)) return;
    const meant = didYouMean(node.guest, labels);
    const known = `the guests are ${labels.join(', ')}`;
    const why = `no guest is called "${node.guest}"${meant}; ${known}`;
    context.fail('dangling', ['node', index, 'guest'], why);
  });
  return guests;
}

function declare(tables: readonly NodeFields[], context: CompileContext): Declared[] {
  const declared: Declared[] = [];
  const seen = new Set<string>();
  tables.forEach((fields, index) => {
    const path = ['node', index];
    if ((fields.name === undefined) === (fields.names === undefined)) {
      context.fail('node', path, 'a node table has either "name" or "names"');
      return;
    }
    const names = fields.names ?? [fields.name ?? ''];
    names.forEach((name, at) => {
      const place = fields.names === undefined ? [...path, 'name'] : [...path, 'names', at];
      if (!NODE_NAME.test(name)) {
        const allowed = 'small letters, digits and inner hyphens, at most 63';
        context.fail('name', place, `${JSON.stringify(name)} is no host name: ${allowed}`);
      }
      if (seen.has(name)) context.fail('duplicate', place, `the name "${name}" stands twice`);
      seen.add(name);
      declared.push({ name, fields, index });
    });
  });
  if (declared.length > NODES_MAX) {
    context.fail('limit', ['node'], `${declared.length} nodes are above the limit ${NODES_MAX}`);
  }
  return declared;
}

const PLACEHOLDERS = ['{name}', '{index}', '{peers}', '{nodes:<guest>}'];

/**
 * Fills in an argument's placeholders: `{name}`, `{index}`, `{peers}` (the other nodes of the same
 * guest) and `{nodes:<guest>}` (all nodes of that guest), lists joined by commas. `{{` and `}}`
 * stand for single braces.
 */
function substitute(
  arg: string,
  name: string,
  declared: readonly Declared[],
  path: KeyPath,
  context: CompileContext,
): string {
  const own = declared.find((node) => node.name === name);
  return arg.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (whole, word?: string) => {
    if (whole === '{{') return '{';
    if (whole === '}}') return '}';
    if (word === 'name') return name;
    if (word === 'index') return String(declared.findIndex((node) => node.name === name));
    const guest = word === 'peers' ? own?.fields.guest : /^nodes:(.+)$/.exec(word ?? '')?.[1];
    const nodes = declared.filter((node) => node.fields.guest === guest);
    if (guest === undefined || nodes.length === 0) {
      const known = PLACEHOLDERS.join(', ');
      const why = `${whole} is no placeholder; write ${known}, or {{ for a brace`;
      context.fail('placeholder', path, why);
      return '';
    }
    const names = nodes.map((node) => node.name);
    return names.filter((other) => word !== 'peers' || other !== name).join(',');
  });
}

function compileEnv(
  env: Readonly<Record<string, string>>,
  path: KeyPath,
  context: CompileContext,
): (readonly [string, string])[] {
  const pairs = Object.entries(env);
  for (const [name, value] of pairs) {
    if (name === '' || name.includes('=') || (name + value).includes('\0')) {
      context.fail('env', [...path, name], `${JSON.stringify(name)} cannot be a variable`);
    }
  }
  return pairs.sort((a, b) => compareText(a[0], b[0]));
}

function compileFiles(node: NodeFields, path: KeyPath, context: CompileContext): FileDef[] {
  const seen = new Set<string>();
  let total = 0;
  const files = node.file.flatMap((file, at) => {
    const place = [...path, 'file', at];
    const bytes = fileBytes(file, place, context);
    checkFilePath(file.path, [...place, 'path'], seen, context);
    total += bytes?.length ?? 0;
    return bytes === null ? [] : [{ path: file.path, bytes }];
  });
  if (total > FILE_BYTES_MAX) {
    context.fail(
      'limit',
      [...path, 'file'],
      `${total} bytes are above the limit ${FILE_BYTES_MAX}`,
    );
  }
  return files.sort((a, b) => compareText(a.path, b.path));
}

function fileBytes(file: FileFields, path: KeyPath, context: CompileContext): Uint8Array | null {
  const { text, source } = file;
  if ((text === undefined) === (source === undefined)) {
    context.fail('file', path, 'a file has either "text" or "source"');
    return null;
  }
  if (text !== undefined) return encodeUtf8(text);
  return attempt(context, [...path, 'source'], () => context.readSource(source ?? ''));
}

function checkFilePath(
  path: string,
  place: KeyPath,
  seen: Set<string>,
  context: CompileContext,
): void {
  const parts = path.split('/').slice(1);
  const plain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!path.startsWith('/') || !plain || path.includes('\0') || path.length > 1_024) {
    context.fail('file-path', place, `${JSON.stringify(path)} is no plain absolute path`);
  }
  if (seen.has(path)) context.fail('duplicate', place, `the file "${path}" stands twice`);
  seen.add(path);
}

/** What `read` gives, or null after its SimError has become an issue. */
function attempt(
  context: CompileContext,
  path: KeyPath,
  read: () => Uint8Array,
): Uint8Array | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    context.issues.push({ code: error.code, path, message: error.message });
    return null;
  }
}

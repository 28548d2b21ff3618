import {
  encodeCanonical,
  encodeRecordImage,
  SimError,
  type ProgramGuestDef,
} from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import { toScript } from './handler-modules.ts';
import type { ScenarioFields } from './schema.ts';
import type { KeyPath } from './toml.ts';
import { loadFaultFile, loadWorldFile } from './world-file.ts';

type GuestFields = ScenarioFields['guest'][string];

/** The form of a model's image: canonical CBOR with the script in it. */
export const MODEL_DOCUMENT = { document: 'model', version: 1 } as const;

/** The port on which a record world listens unless the scenario says otherwise. */
const PORT_DEFAULT = 80;

/** What makes a guest: one of these keys. */
export const GUEST_SOURCES = ['wasm', 'builtin', 'record', 'model', 'machine'] as const;

/** The image of a guest that is no compiled program; null after an issue, or if it is one. */
export function compileOwnGuest(
  label: string,
  fields: GuestFields,
  context: CompileContext,
): { readonly kind: ProgramGuestDef['kind']; readonly bytes: Uint8Array } | null {
  const path = ['guest', label];
  checkKeys(fields, path, context);
  try {
    if (fields.record !== undefined) {
      return { kind: 'record', bytes: recordImage(fields.record, fields, context) };
    }
    if (fields.model !== undefined) {
      return { kind: 'model', bytes: modelImage(context.readSource(fields.model), fields.model) };
    }
    return null;
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    const key = fields.record === undefined ? 'model' : 'record';
    const { code, message, place } = error;
    const where = place === undefined || message.includes(place) ? '' : ` (at ${place})`;
    context.issues.push({ code, path: [...path, key], message: message + where });
    return null;
  }
}

/** The image of a model: a TypeScript or JavaScript module that exports `function* main(input)`. */
export function modelImage(bytes: Uint8Array, file: string): Uint8Array {
  const script = toScript(bytes, file);
  return encodeCanonical({ schema_version: MODEL_DOCUMENT.version, script });
}

function recordImage(file: string, fields: GuestFields, context: CompileContext): Uint8Array {
  const folder = file.replace(/[^/]*$/, '');
  const files = {
    read: (name: string) => context.readSource(folder + name),
    builtinGuest: (name: string) => context.files.builtinGuest(name),
  };
  const loaded = loadWorldFile(context.readSource(file), file, files);
  if (!loaded.ok) throw loaded.errors[0] as SimError;
  const { def, modules } = loaded.world;
  const port = fields.port ?? PORT_DEFAULT;
  if (fields.faults === undefined) return encodeRecordImage({ def, faults: null, port, modules });
  if (fields.faults === 'world') {
    return encodeRecordImage({ def, faults: def.faults, port, modules });
  }
  const profile = loadFaultFile(context.readSource(fields.faults), fields.faults, def);
  if (!profile.ok) throw profile.errors[0] as SimError;
  return encodeRecordImage({ def, faults: profile.faults, port, modules });
}

function checkKeys(fields: GuestFields, path: KeyPath, context: CompileContext): void {
  for (const key of ['faults', 'port'] as const) {
    if (fields[key] === undefined || fields.record !== undefined) continue;
    context.fail('guest', [...path, key], `"${key}" is about a guest with "record"`);
  }
}

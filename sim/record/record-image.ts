import { decodeCanonical, encodeCanonical } from '../kernel/canonical.ts';
import { SimError } from '../kernel/errors.ts';
import {
  openDocument,
  readBytes,
  readInteger,
  readList,
  readRecord,
  readText,
  readWord,
} from '../kernel/shape.ts';
import type { FaultProfile, RecordWorldDef } from './world-def.ts';

/** The code of handlers, by module: a script in the form of CommonJS, or a WASM module. */
export interface RecordModule {
  readonly name: string;
  readonly kind: 'script' | 'wasm';
  readonly bytes: Uint8Array;
}

/** All that a guest of kind `record` is made of; its bytes are the guest's image. */
export interface RecordImage {
  readonly def: RecordWorldDef;
  readonly faults: FaultProfile | null;
  /** Where it listens. */
  readonly port: number;
  readonly modules: readonly RecordModule[];
}

const DOCUMENT = { document: 'record', version: 1 } as const;
const TEXT_LENGTH = 4 * 1024 * 1024;
const MODULE_BYTES = 64 * 1024 * 1024;

const readImage = readRecord<{
  readonly def: string;
  readonly faults: string;
  readonly port: number;
  readonly modules: readonly RecordModule[];
}>({
  def: readText(TEXT_LENGTH),
  faults: readText(TEXT_LENGTH),
  port: readInteger(1, 65_535),
  modules: readList(
    readRecord<RecordModule>({
      name: readText(64),
      kind: readWord(['script', 'wasm']),
      bytes: readBytes(MODULE_BYTES),
    }),
    256,
  ),
});

/** The image's bytes: canonical CBOR; the definition in it as JSON, whose keys keep their order. */
export function encodeRecordImage({ def, faults, port, modules }: RecordImage): Uint8Array {
  return encodeCanonical({
    schema_version: DOCUMENT.version,
    def: JSON.stringify(def),
    faults: JSON.stringify(faults),
    port,
    modules: modules.map(({ name, kind, bytes }) => ({ name, kind, bytes })),
  });
}

/** Throws `bundle/…` for bytes that are no such image. */
export function decodeRecordImage(bytes: Uint8Array): RecordImage {
  const fields = readImage(openDocument(decodeCanonical(bytes), DOCUMENT), 'record');
  try {
    return {
      def: JSON.parse(fields.def) as RecordWorldDef,
      faults: JSON.parse(fields.faults) as FaultProfile | null,
      port: fields.port,
      modules: fields.modules,
    };
  } catch (error) {
    const message = 'the image of a record world is damaged';
    throw new SimError({ code: 'bundle/shape', message, place: 'record.def', cause: error });
  }
}

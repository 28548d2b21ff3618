import {
  decodeCanonical,
  decodeRecordImage,
  ModelGuest,
  openDocument,
  readBytes,
  readRecord,
  RecordGuest,
  type Guest,
  type ProgramGuestDef,
  type GuestImage,
  type GuestPort,
  type ModelProgram,
  type ModelStep,
} from '../sim/index.ts';
import { MODEL_DOCUMENT } from '../scenarios/index.ts';
import { makeHandlers } from './record/handlers.ts';
import { Realm, type RealmReply } from './record/realm.ts';

/** A guest as a run keeps it. */
export interface RunGuest extends Guest {
  /** Instructions executed since the start; 0 where there are none to count. */
  readonly instructions: number;
}

/** Makes a guest of a kind that is no compiled program, fresh or as `from` has it. */
export function makeOwnGuest(
  kind: Exclude<ProgramGuestDef['kind'], 'wasm'>,
  image: Uint8Array,
  port: GuestPort,
  from: GuestImage | null,
): RunGuest {
  const guest = kind === 'record' ? recordGuest(image, port) : modelGuest(image, port);
  if (from !== null) guest.restore(from);
  return guest;
}

function recordGuest(bytes: Uint8Array, port: GuestPort): RecordGuest {
  const image = decodeRecordImage(bytes);
  return new RecordGuest(image, makeHandlers(image.def, image.modules), port);
}

/** The function that a model's module exports. */
export const MODEL_FUNCTION = 'main';
const MODULE = 'model';
const readModel = readRecord<{ readonly script: Uint8Array }>({
  script: readBytes(4 * 1024 * 1024),
});

function modelGuest(bytes: Uint8Array, port: GuestPort): ModelGuest {
  const { script } = readModel(openDocument(decodeCanonical(bytes), MODEL_DOCUMENT), 'model');
  return new ModelGuest(() => {
    return new RealmProgram(new Realm([{ name: MODULE, kind: 'script', bytes: script }]));
  }, port);
}

class RealmProgram implements ModelProgram {
  private readonly realm: Realm;

  constructor(realm: Realm) {
    this.realm = realm;
  }

  start(input: unknown): ModelStep {
    const started = this.realm.start(MODULE, MODEL_FUNCTION, input);
    return started.kind === 'value' ? this.next(null) : stepOf(started);
  }

  next(input: unknown): ModelStep {
    return stepOf(this.realm.next(input));
  }
}

function stepOf(reply: RealmReply): ModelStep {
  if (reply.kind !== 'value') return { kind: 'broken', message: reply.message };
  const { done, value } = reply.value as { readonly done: boolean; readonly value: unknown };
  return done ? { kind: 'done', value } : { kind: 'asks', request: value };
}

import { decodeCanonical, encodeCanonical, type Canonical } from '../kernel/canonical.ts';
import { SimError } from '../kernel/errors.ts';
import type { GuestImage } from '../kernel/guest.ts';
import { FRAME_HEADER_BYTES, FRAME_MAGIC, type LogState } from '../kernel/log.ts';
import { LOG_DECISIONS, LOG_EVENTS, readLog } from '../kernel/log-reader.ts';
import { RollingDigest } from '../kernel/rolling-digest.ts';
import { sha256 } from '../kernel/sha256.ts';
import {
  asMap,
  openDocument,
  readBytes,
  readInteger,
  readList,
  readNullable,
  readPair,
  readRecord,
  readText,
  type Read,
} from '../kernel/shape.ts';
import type { WorldState } from '../world/world.ts';
import { readFingerprint, type FingerprintRecord } from './fingerprints.ts';

export const CHECKPOINT_VERSION = 1;

/** The whole world at a boundary (CR-101, fat), as a simulation captures it. */
export interface FatCheckpoint {
  readonly version: 1;
  readonly world: WorldState;
  readonly guests: readonly (GuestImage | null)[];
  readonly fingerprints: readonly FingerprintRecord[];
  readonly nextFingerprintNs: number;
  /** The complete frames of both logs so far; open ones stand in the world's state. */
  readonly schedule: readonly Uint8Array[];
  readonly events: readonly Uint8Array[];
  readonly consoles: readonly (readonly Uint8Array[])[];
  /** How many instructions each node's guest had executed when it was dropped. */
  readonly instructionCounts: readonly number[];
}

/** Pages of all checkpoints of a bundle, each stored once by its content. */
export class PagePool {
  private readonly byDigest = new Map<string, number>();
  private readonly byIdentity = new Map<Uint8Array, number>();
  private readonly list: Uint8Array[] = [];

  /** The place of a page with these bytes. */
  add(page: Uint8Array): number {
    const known = this.byIdentity.get(page);
    if (known !== undefined) return known;
    const digest = sha256(page);
    let place = this.byDigest.get(digest);
    if (place === undefined) {
      place = this.list.length;
      this.list.push(page);
      this.byDigest.set(digest, place);
    }
    this.byIdentity.set(page, place);
    return place;
  }

  encode(): Uint8Array {
    return encodeCanonical({ schema_version: CHECKPOINT_VERSION, pages: this.list });
  }
}

/** Reads `checkpoints/pages.cbor`. */
export function decodePages(bytes: Uint8Array): readonly Uint8Array[] {
  const expected = { document: 'pages', version: CHECKPOINT_VERSION };
  const fields = openDocument(decodeCanonical(bytes), expected);
  return readPages(fields, 'pages').pages;
}

/** What a checkpoint's member, the pages and the bundle's logs hold together. */
export function encodeCheckpoint(checkpoint: FatCheckpoint, pool: PagePool): Uint8Array {
  const { world, fingerprints, nextFingerprintNs, consoles, instructionCounts } = checkpoint;
  const guests = checkpoint.guests.map((image) => {
    if (image === null) return null;
    const pages = [...image.pages].sort((a, b) => a[0] - b[0]);
    return {
      kind: image.kind,
      version: image.version,
      state: image.state,
      pages: pages.map(([index, page]) => [index, pool.add(page)]),
    };
  });
  return encodeCanonical({
    schema_version: CHECKPOINT_VERSION,
    world,
    guests,
    fingerprints,
    nextFingerprintNs,
    consoles: consoles.map(joinBytes),
    instructionCounts,
  });
}

/** The logs up to a checkpoint, with the open frames closed, so that they stand on their own. */
export function checkpointLogs(checkpoint: FatCheckpoint): {
  readonly schedule: Uint8Array;
  readonly events: Uint8Array;
} {
  const { world } = checkpoint;
  return {
    schedule: joinBytes([...checkpoint.schedule, closedFrame(LOG_DECISIONS, world.decisions.log)]),
    events: joinBytes([...checkpoint.events, closedFrame(LOG_EVENTS, world.events.log)]),
  };
}

/**
 * Reads a checkpoint back. The logs are those that `checkpointLogs` made, or longer ones of the
 * same run. The state of world and guests is checked only when it is restored.
 */
export function decodeCheckpoint(
  bytes: Uint8Array,
  pages: readonly Uint8Array[],
  logs: { readonly schedule: Uint8Array; readonly events: Uint8Array },
): FatCheckpoint {
  const expected = { document: 'checkpoint', version: CHECKPOINT_VERSION };
  const fields = readFields(openDocument(decodeCanonical(bytes), expected), 'checkpoint');
  const world = fields.world as unknown as WorldState;
  const guests = fields.guests.map((guest) => {
    if (guest === null) return null;
    const image = guest.pages.map(([index, place]): [number, Uint8Array] => {
      const page = pages[place];
      if (page === undefined) return refuse(`page ${place} is not in the bundle`);
      return [index, page];
    });
    return { kind: guest.kind, version: guest.version, state: guest.state, pages: new Map(image) };
  });
  return {
    version: 1,
    world,
    guests,
    fingerprints: fields.fingerprints,
    nextFingerprintNs: fields.nextFingerprintNs,
    schedule: completeFrames(logs.schedule, LOG_DECISIONS, logState(fields.world, 'decisions')),
    events: completeFrames(logs.events, LOG_EVENTS, logState(fields.world, 'events')),
    consoles: fields.consoles.map((console) => [console]),
    instructionCounts: fields.instructionCounts,
  };
}

interface Fields {
  readonly world: Readonly<Record<string, unknown>>;
  readonly guests: readonly (GuestFields | null)[];
  readonly fingerprints: readonly FingerprintRecord[];
  readonly nextFingerprintNs: number;
  readonly consoles: readonly Uint8Array[];
  readonly instructionCounts: readonly number[];
}

interface GuestFields {
  readonly kind: string;
  readonly version: number;
  readonly state: Canonical;
  readonly pages: readonly (readonly [number, number])[];
}

const PAGES_MAX = 16 * 1024 * 1024;

const readPages = readRecord<{ readonly pages: readonly Uint8Array[] }>({
  pages: readList(readBytes(65_536), PAGES_MAX),
});

const readFields: Read<Fields> = readRecord<Fields>({
  world: asMap,
  guests: readList(
    readNullable(
      readRecord<GuestFields>({
        kind: readText(),
        version: readInteger(),
        state: (value) => value as Canonical,
        pages: readList(readPair(readInteger(), readInteger()), PAGES_MAX),
      }),
    ),
    10_000,
  ),
  fingerprints: readList(readFingerprint, 1_000_000),
  nextFingerprintNs: readInteger(),
  consoles: readList(readBytes(1024 * 1024 * 1024), 10_000),
  instructionCounts: readList(readInteger(), 10_000),
});

/** How far the complete frames of a log reach. */
interface LogExtent {
  readonly frames: number;
  readonly bytesBefore: number;
}

const readExtent = { frames: readInteger(), bytesBefore: readInteger() };

function logState(world: Readonly<Record<string, unknown>>, name: string): LogExtent {
  const path = `checkpoint.world.${name}`;
  const log = asMap(asMap(world[name], path)['log'], `${path}.log`);
  return {
    frames: readExtent.frames(log['frames'], `${path}.log.frames`),
    bytesBefore: readExtent.bytesBefore(log['bytesBefore'], `${path}.log.bytesBefore`),
  };
}

/** The frames that were complete at the checkpoint. */
function completeFrames(bytes: Uint8Array, kind: number, extent: LogExtent): Uint8Array[] {
  const log = readLog(bytes, kind);
  const frames = log.frames.slice(0, extent.frames);
  const payload = frames.reduce((sum, frame) => sum + frame.payload.length, 0);
  if (frames.length !== extent.frames || payload !== extent.bytesBefore) {
    return refuse('its logs are not those of the bundle');
  }
  return frames.map(({ offset, payload: { length } }) => {
    return new Uint8Array(bytes.subarray(offset, offset + FRAME_HEADER_BYTES + length));
  });
}

/** An open frame as `RecordLog.flush` would close it; nothing if it is empty. */
function closedFrame(kind: number, state: LogState): Uint8Array {
  if (state.records === 0) return new Uint8Array(0);
  const frame = new Uint8Array(FRAME_HEADER_BYTES + state.payload.length);
  const view = new DataView(frame.buffer);
  view.setUint8(0, FRAME_MAGIC);
  view.setUint8(1, kind);
  view.setUint32(2, state.payload.length, true);
  view.setUint32(6, state.records, true);
  putHex(view, 10, state.chainBefore);
  const digest = new RollingDigest();
  digest.restore(state.digest);
  putHex(view, 18, digest.hex());
  frame.set(state.payload, FRAME_HEADER_BYTES);
  return frame;
}

function putHex(view: DataView, at: number, hex: string): void {
  view.setUint32(at, Number.parseInt(hex.slice(0, 8), 16));
  view.setUint32(at + 4, Number.parseInt(hex.slice(8), 16));
}

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

function refuse(why: string): never {
  throw new SimError({ code: 'bundle/checkpoint', message: `the checkpoint is damaged: ${why}` });
}

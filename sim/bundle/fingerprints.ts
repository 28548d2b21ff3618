import { decodeCanonical, encodeCanonical } from '../kernel/canonical.ts';
import {
  openDocument,
  readHex,
  readInteger,
  readList,
  readRecord,
  readText,
  type Read,
} from '../kernel/shape.ts';

export const FINGERPRINTS_VERSION = 1;

/** The state of a run at a boundary, in digests: what bisection compares (CR-99). */
export interface FingerprintRecord {
  readonly atNs: number;
  readonly quanta: number;
  readonly decisionChain: string;
  readonly eventChain: string;
  /** A digest for each node, in order of the nodes. */
  readonly guests: readonly string[];
}

export function encodeFingerprints(fingerprints: readonly FingerprintRecord[]): Uint8Array {
  return encodeCanonical({ schema_version: FINGERPRINTS_VERSION, fingerprints });
}

/** Throws `bundle/cbor`, `bundle/version` or `bundle/shape`. */
export function decodeFingerprints(bytes: Uint8Array): readonly FingerprintRecord[] {
  const fields = openDocument(decodeCanonical(bytes), {
    document: 'fingerprints',
    version: FINGERPRINTS_VERSION,
  });
  return readDocument(fields, 'fingerprints').fingerprints;
}

export const readFingerprint: Read<FingerprintRecord> = readRecord<FingerprintRecord>({
  atNs: readInteger(),
  quanta: readInteger(),
  decisionChain: readHex(16),
  eventChain: readHex(16),
  guests: readList(readText(200), 10_000),
});

const readDocument = readRecord<{ readonly fingerprints: readonly FingerprintRecord[] }>({
  fingerprints: readList(readFingerprint, 1_000_000),
});

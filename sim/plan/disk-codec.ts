import {
  readBoolean,
  readInteger,
  readList,
  readNullable,
  readRecord,
  readText,
  readWord,
  type Read,
} from '../kernel/shape.ts';
import type { DiskAtlasDef, DiskDef, DiskRuleDef } from './disk.ts';
import type { ActionDef } from './scenario.ts';

export const readDiskRule: Read<DiskRuleDef> = readRecord<DiskRuleDef>({
  path: readText(),
  fromByte: readInteger(),
  toByte: readInteger(),
  readError: readInteger(),
  writeError: readInteger(),
  syncError: readInteger(),
  failedSync: readWord(['dirty', 'clean']),
  lyingFlush: readInteger(),
  lostWrite: readInteger(),
  tornWrite: readInteger(),
  misdirectedWrite: readInteger(),
  misdirectedRead: readInteger(),
  bitRot: readInteger(),
  latentError: readInteger(),
  capacityBytes: readNullable(readInteger()),
  quotaBytes: readNullable(readInteger()),
  readLatencyNs: readInteger(),
  writeLatencyNs: readInteger(),
  syncLatencyNs: readInteger(),
  bytesPerSecond: readNullable(readInteger()),
  jitterNs: readInteger(),
  stall: readInteger(),
  stallNs: readNullable(readInteger()),
});

/** One of two sizes; what is between is read as it is and refused by the admission. */
const readSectorBytes = readInteger(512, 4096) as Read<DiskDef['sectorBytes']>;

export const readDisk: Read<DiskDef> = readRecord<DiskDef>({
  sectorBytes: readSectorBytes,
  crash: readWord(['file', 'ordered', 'reordered']),
  tear: readInteger(),
  pageCache: readBoolean,
  rule: readDiskRule,
});

export const readDiskAtlas: Read<DiskAtlasDef> = readRecord<DiskAtlasDef>({
  nodes: readList(readInteger(), 1_000),
  faultyMax: readInteger(),
  chunkBytes: readInteger(),
});

type Action<K extends ActionDef['kind']> = Extract<ActionDef, { kind: K }>;
const readNodes = readList(readInteger(), 1_000);

export const DISK_ACTION_READERS = {
  disk: readRecord<Action<'disk'>>({
    kind: readWord(['disk']),
    nodes: readNodes,
    rule: readDiskRule,
  }),
  'disk-heal': readRecord<Action<'disk-heal'>>({
    kind: readWord(['disk-heal']),
    nodes: readNodes,
    repair: readBoolean,
  }),
};

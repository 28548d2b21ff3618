import { z } from 'zod';
import {
  COMMAND_LINE_LENGTH_MAX,
  MACHINE_CPUS_MAX,
  MACHINE_DISKS_MAX,
  MACHINE_MEMORY_MIB_MAX,
  MACHINE_MEMORY_MIB_MIN,
  MACHINE_SHIFT_MAX,
  MACHINE_TYPES,
} from '../sim/index.ts';
import { byteCount } from './schema-disk.ts';
import { ready } from './schema-ready.ts';
import { span, table, text } from './schema-words.ts';

/** A disk by its size, or the file whose bytes it starts with. */
const disk = table({ size: byteCount.optional(), image: text.optional() });

/** A full machine: what it boots and what it is made of (CR-53). */
export const machine = table({
  vm: text.optional(),
  kernel: text.optional(),
  initrd: text.optional(),
  command_line: text.max(COMMAND_LINE_LENGTH_MAX).default(''),
  type: z.enum(MACHINE_TYPES).default('microvm'),
  cpus: z.int().min(1).max(MACHINE_CPUS_MAX).default(1),
  memory_mib: z.int().min(MACHINE_MEMORY_MIB_MIN).max(MACHINE_MEMORY_MIB_MAX).optional(),
  shift: z.int().min(0).max(MACHINE_SHIFT_MAX).default(0),
  disks: z.array(disk).max(MACHINE_DISKS_MAX).default([]),
  ready: ready.optional(),
  ready_within: span.optional(),
});

export type MachineFields = z.output<typeof machine>;

import { z } from 'zod';

/**
 * The commands and events of the QEMU Machine Protocol that we use, after QEMU's own schema
 * (`qapi/*.json`, 10.0). Answers may hold more members than these; they are dropped.
 */

const nothing = z.object({});
const text = z.string();
const count = z.int();

/** A command: what it takes, what it answers, and whether it may run out of band. */
interface CommandSpec {
  readonly takes: z.ZodType;
  readonly answers: z.ZodType;
  /** QEMU marks it `allow-oob`: it is answered even while the main loop is busy. */
  readonly outOfBand?: true;
}

/** `RunState` of qapi/run-state.json. */
const runState = z.enum([
  'debug',
  'inmigrate',
  'internal-error',
  'io-error',
  'paused',
  'postmigrate',
  'prelaunch',
  'finish-migrate',
  'restore-vm',
  'running',
  'save-vm',
  'shutdown',
  'suspended',
  'watchdog',
  'guest-panicked',
  'colo',
]);

const version = z.object({
  qemu: z.object({ major: count, minor: count, micro: count }),
  package: text,
});

const migrationCapability = z.object({ capability: text, state: z.boolean() });

const cpu = z.object({ 'cpu-index': count, 'thread-id': count, 'qom-path': text });

const block = z.object({
  device: text,
  locked: z.boolean(),
  removable: z.boolean(),
  inserted: z.object({ file: text, drv: text, ro: z.boolean() }).optional(),
});

export const QMP_COMMANDS = {
  qmp_capabilities: {
    takes: z.object({ enable: z.array(z.literal('oob')).optional() }),
    answers: nothing,
  },
  'query-version': { takes: nothing, answers: version },
  'query-status': { takes: nothing, answers: z.object({ running: z.boolean(), status: runState }) },
  'query-cpus-fast': { takes: nothing, answers: z.array(cpu) },
  'query-block': { takes: nothing, answers: z.array(block) },
  /** `icount` counts instructions, even when nothing is recorded. */
  'query-replay': { takes: nothing, answers: z.object({ mode: text, icount: count }) },
  'query-commands': { takes: nothing, answers: z.array(z.object({ name: text })) },
  /** All types of devices, machines and the like; `implements` keeps those below one. */
  'qom-list-types': {
    takes: z.object({ implements: text.optional(), abstract: z.boolean().optional() }),
    answers: z.array(z.object({ name: text })),
  },
  cont: { takes: nothing, answers: nothing },
  stop: { takes: nothing, answers: nothing },
  quit: { takes: nothing, answers: nothing },
  system_reset: { takes: nothing, answers: nothing },
  system_powerdown: { takes: nothing, answers: nothing },
  'inject-nmi': { takes: nothing, answers: nothing },
  /** Guest-physical memory into a file. */
  pmemsave: { takes: z.object({ val: count, size: count, filename: text }), answers: nothing },
  'human-monitor-command': { takes: z.object({ 'command-line': text }), answers: text },
  'migrate-set-capabilities': {
    takes: z.object({ capabilities: z.array(migrationCapability) }),
    answers: nothing,
  },
  migrate: { takes: z.object({ uri: text }), answers: nothing },
  'migrate-incoming': { takes: z.object({ uri: text }), answers: nothing },
  'query-migrate': {
    takes: nothing,
    answers: z.object({ status: text.optional(), 'error-desc': text.optional() }),
  },
  'migrate-pause': { takes: nothing, answers: nothing, outOfBand: true },
  'migrate-recover': { takes: z.object({ uri: text }), answers: nothing, outOfBand: true },
  'query-yank': { takes: nothing, answers: z.array(z.object({ type: text })), outOfBand: true },
} as const satisfies Readonly<Record<string, CommandSpec>>;

export type QmpCommandName = keyof typeof QMP_COMMANDS;
export type QmpArguments<Name extends QmpCommandName> = z.input<
  (typeof QMP_COMMANDS)[Name]['takes']
>;
export type QmpAnswer<Name extends QmpCommandName> = z.output<
  (typeof QMP_COMMANDS)[Name]['answers']
>;

/** The commands that may run out of band. */
export type QmpOutOfBandName = {
  [Name in QmpCommandName]: (typeof QMP_COMMANDS)[Name] extends { readonly outOfBand: true }
    ? Name
    : never;
}[QmpCommandName];

export const QMP_EVENTS = {
  STOP: nothing,
  RESUME: nothing,
  RESET: z.object({ guest: z.boolean(), reason: text }),
  SHUTDOWN: z.object({ guest: z.boolean(), reason: text }),
  POWERDOWN: nothing,
  SUSPEND: nothing,
  WAKEUP: nothing,
  MIGRATION: z.object({ status: text }),
  GUEST_PANICKED: z.object({ action: text }),
  BLOCK_IO_ERROR: z.object({ device: text, operation: text, action: text, reason: text }),
  RTC_CHANGE: z.object({ offset: count }),
} as const satisfies Readonly<Record<string, z.ZodType>>;

export type QmpEventName = keyof typeof QMP_EVENTS;

/** An event that we know. `hostMicroseconds` is QEMU's wall clock: never let it reach a run. */
export interface QmpKnownEvent<Name extends QmpEventName = QmpEventName> {
  readonly name: Name;
  readonly data: z.output<(typeof QMP_EVENTS)[Name]>;
  readonly hostMicroseconds: number;
}

/** Any other event, as it came. */
export interface QmpOtherEvent {
  readonly name: 'other';
  readonly event: string;
  readonly data: unknown;
  readonly hostMicroseconds: number;
}

export type QmpEvent =
  { [Name in QmpEventName]: QmpKnownEvent<Name> }[QmpEventName] | QmpOtherEvent;

export const qmpGreeting = z.object({
  QMP: z.object({ version, capabilities: z.array(text).max(64) }),
});
export type QmpVersion = z.output<typeof version>;

/** What may follow the greeting: an answer, a refusal, an event. */
export const qmpMessage = z.union([
  z.object({ return: z.unknown(), id: z.int() }),
  z.object({ error: z.object({ class: text, desc: text }), id: z.int().optional() }),
  z.object({
    event: text,
    data: z.unknown().optional(),
    timestamp: z.object({ seconds: z.int(), microseconds: z.int() }),
  }),
]);
export type QmpMessage = z.output<typeof qmpMessage>;

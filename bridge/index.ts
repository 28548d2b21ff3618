/** Full machines under QEMU. Other folders import it through here. */
export * from './qmp-client.ts';
export type {
  QmpAnswer,
  QmpArguments,
  QmpCommandName,
  QmpEvent,
  QmpEventName,
  QmpKnownEvent,
  QmpOtherEvent,
  QmpOutOfBandName,
  QmpVersion,
} from './qmp/schema.ts';
export * from './machine-options.ts';
export * from './machine-events.ts';
export * from './machine.ts';

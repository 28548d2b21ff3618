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
export { BACKEND_KINDS, findBackend, setUpPlugin } from './build/backend.ts';
export type { BackendKind, SetupOptions } from './build/backend.ts';
export { PACKAGED_QEMU } from './build/qemu-binary.ts';

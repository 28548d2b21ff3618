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
export * from './build/backend-kind.ts';
export { findBackend, setUpPlugin } from './build/backend.ts';
export type { SetupOptions } from './build/backend.ts';
export { installPackages, missingPackages, neededPackages } from './build/packages.ts';
export { PACKAGED_QEMU } from './build/qemu-binary.ts';

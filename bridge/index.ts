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
export { proveMachine } from './machine-contract.ts';
export * from './build/backend-kind.ts';
export { makeDraft } from './build/draft.ts';
export { findBackend, setUpPatched, setUpPlugin } from './build/backend.ts';
export type { AdapterKind } from './build/adapter.ts';
export type { SetupOptions } from './build/backend.ts';
export { installPackages, missingPackages, neededPackages } from './build/packages.ts';
export { proveStock, STOCK_KEEPS, STOCK_REFUSES } from './build/stock.ts';
export { PACKAGED_QEMU } from './build/qemu-binary.ts';
export {
  buildImage,
  openImage,
  type BuildOptions,
  type ImageManifest,
  type ImagePackage,
  type MachineImage,
} from './image/build.ts';
export type { DiskSpec, FileSpec, ImageSpec, UserSpec } from './image/spec.ts';
export {
  DISK_BYTE_COUNT_MAX,
  DISK_BYTE_COUNT_MIN,
  MEMORY_BYTE_COUNT_MAX,
  MEMORY_BYTE_COUNT_MIN,
} from './image/spec.ts';
export { BaseImage } from './image/base-image.ts';
export { ownInitrd, ownKernel, type OwnFile } from './image/own-image.ts';

/** Programs that run as guests, and the compilers that make them. */
export * from './catalogue.ts';
export * from './c-guests.ts';
export * from './manifest.ts';
export * from './toolchain/assemblyscript.ts';
export * from './toolchain/c.ts';
export * from './toolchain/c-sdk.ts';
export * from './toolchain/cache.ts';
export { run as runCommand, RunningCommands, type CommandResult } from './toolchain/command.ts';
export * from './toolchain/component.ts';
export * from './toolchain/etcd-raft.ts';
export * from './toolchain/from-path.ts';
export * from './toolchain/go.ts';
export * from './toolchain/npm-source.ts';
export * from './toolchain/root.ts';
export * from './toolchain/rust.ts';
export * from './toolchain/setup.ts';
export * from './toolchain/sources.ts';

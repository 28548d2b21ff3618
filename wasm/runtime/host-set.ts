/** A host function at core level: integers and floats as WebAssembly passes them. */
export type HostFunction = (...args: (number | bigint)[]) => number | bigint | undefined;

/** The host functions of one guest instance, with their state. */
export interface HostSet {
  /** The function for a program's host import, by the index that the program gives it. */
  readonly functions: readonly HostFunction[];
  /** Called once the instances stand, and again when the guest moves to other instances. */
  attach(instances: readonly WebAssembly.Instance[]): void;
  /** The exit code that the main entry's result means. */
  exitCode(result: unknown): number;
  /** The state as canonical plain data. */
  capture(): unknown;
  restore(state: unknown): void;
}

import { SimError } from '../sim/index.ts';
import type { Host } from './host.ts';

/** Several errors that come together, such as those of one scenario's text. */
export class ErrorList extends Error {
  readonly errors: readonly SimError[];

  constructor(errors: readonly SimError[]) {
    super(`${errors.length} errors`);
    this.errors = errors;
  }
}

/** The exit code of a command that ends with this error (CR-48). */
export function exitCodeOf(error: unknown): number {
  return asErrors(error)[0]?.exitCode ?? 3;
}

/** Writes each error as one block: code, message, place, remedy. */
export function reportError(error: unknown, host: Host, format: 'text' | 'json'): void {
  for (const each of asErrors(error)) {
    host.stderr.write(format === 'json' ? errorRecord(each) : errorBlock(each));
  }
}

function errorBlock({ code, message, place, remedy, cause }: SimError): string {
  let block = `error ${code}: ${message}\n`;
  if (place !== undefined) block += `  at: ${place}\n`;
  if (remedy !== undefined) block += `  try: ${remedy}\n`;
  // A defect of ours: its stack is what a report needs, though it is the same on no two hosts.
  if (code === 'crash/unexpected' && cause instanceof Error) block += `${cause.stack ?? ''}\n`;
  return block;
}

function errorRecord({ code, message, place, remedy, exitCode }: SimError): string {
  const record = { schema_version: 1, type: 'error', code, message, place, remedy };
  return `${JSON.stringify({ ...record, exit_code: exitCode })}\n`;
}

function asErrors(error: unknown): readonly SimError[] {
  if (error instanceof SimError) return [error];
  if (error instanceof ErrorList) return error.errors;
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return [
    new SimError({
      code: 'crash/unexpected',
      message,
      remedy: 'this is a defect of the simulator; please report it',
      cause: error,
    }),
  ];
}

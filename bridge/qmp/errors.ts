import { SimError } from '../../sim/index.ts';

const RESTART = 'end this QEMU and start another; what it says is no longer to be trusted';

/** The other side said something that is not the protocol. */
export function protocolError(why: string, cause?: unknown): SimError {
  return new SimError({
    code: 'backend/qmp-protocol',
    message: `QEMU's monitor broke the protocol: ${why}`,
    remedy: RESTART,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The connection ended, by us or by the other side. */
export function disconnectedError(why: string, cause?: unknown): SimError {
  return new SimError({
    code: 'backend/qmp-disconnected',
    message: `the connection to QEMU's monitor is closed: ${why}`,
    remedy: 'see what QEMU wrote on its standard error; start it again',
    ...(cause === undefined ? {} : { cause }),
  });
}

export function timeoutError(what: string, timeoutMs: number): SimError {
  return new SimError({
    code: 'backend/qmp-timeout',
    message: `QEMU's monitor did not answer ${what} within ${timeoutMs} ms`,
    remedy: 'the machine may be stuck, or this computer busy: end it, or allow more time',
  });
}

/** QEMU understood a command and refused it. */
export function refusedError(command: string, className: string, description: string): SimError {
  return new SimError({
    code: 'backend/qmp-refused',
    message: `QEMU refused ${command}: ${className}: ${description}`,
    place: command,
    remedy:
      className === 'CommandNotFound'
        ? 'this QEMU is too old or built without it: use the version that `sim vm setup` chooses'
        : 'the machine is not in a state for this command',
  });
}

export function limitError(what: string, limit: number): SimError {
  return new SimError({
    code: 'backend/qmp-limit',
    message: `too much for the connection to QEMU's monitor: ${what}, the limit is ${limit}`,
    remedy: 'wait for earlier answers, or read events as they come',
  });
}

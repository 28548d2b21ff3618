import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { COMMAND, HEADER_BYTES } from '../../bridge/channel/wire.ts';
import { Machine } from '../../bridge/index.ts';
import { machineArguments } from '../../bridge/machine-command.ts';
import { startProcess } from '../../bridge/machine-process.ts';
import { testOptions } from '../support/machine-fixture.ts';

const MS = 1_000_000;
const ROUNDS = 20;
/** A process that has not ended by then goes on for ever. */
const END_MS = 60_000;
const MESSAGES = 60;
/** These take the name of a file or a socket: one that leads nowhere. */
const NAMES: readonly number[] = [COMMAND.SAVE, COMMAND.LOAD, COMMAND.FORK];
/** All that a machine is told, and what it is never told. */
const TYPES: readonly number[] = [...Object.values(COMMAND), 0, 15, 99];

/** Numbers of a small generator, the same in each run: below `limit`. */
function generator(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A message of a known or unknown type whose numbers and payload mean nothing. */
function nonsense(draw: (limit: number) => number): Buffer {
  const type = TYPES[draw(TYPES.length)] ?? 0;
  const length = draw(3) === 0 ? 0 : draw(80);
  const bytes = Buffer.from(Array.from({ length }, () => draw(256)));
  const payload = NAMES.includes(type) ? Buffer.from(`/nowhere/${draw(1e6)}`) : bytes;
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(payload.length, 0);
  header.writeUInt32LE(type, 4);
  for (const at of [8, 16]) {
    header.writeUInt32LE(draw(2) === 0 ? draw(8) : draw(2 ** 32), at);
    header.writeUInt32LE(draw(4) === 0 ? draw(2 ** 32) : 0, at + 4);
  }
  return Buffer.concat([header, payload]);
}

/** Why `process` ended, or that it did not. */
function ending(ended: Promise<string>): Promise<string> {
  const late = sleep(END_MS, 'it goes on', { ref: false });
  return Promise.race([ended, late]);
}

function message(type: number, a: bigint, b = 0n): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(type, 4);
  header.writeBigUInt64LE(a, 8);
  header.writeBigUInt64LE(b, 16);
  return header;
}

describe('a machine whose controller talks nonsense (fuzz)', () => {
  it.each(Array.from({ length: ROUNDS }, (_, round) => [round]))(
    'ends in order when the channel closes, and by no signal (round %i)',
    async (round) => {
      const options = await testOptions({ memoryMiB: 64 });
      const process = await startProcess(options.backend.binary, machineArguments(options));
      try {
        await new Promise((resolve) => process.stream.once('data', resolve));
        process.stream.on('data', () => undefined).on('error', () => undefined);
        const draw = generator(round + 1);
        for (let index = 0; index < MESSAGES; index++) process.stream.write(nonsense(draw));
        // The last thing it hears is no message at all.
        if (round % 2 === 1) process.stream.write(Buffer.alloc(4 * HEADER_BYTES, 0xff));
        await sleep(200);
        process.stream.destroy();
        expect(await ending(process.ended)).toMatch(/^exit code [01]$/);
      } finally {
        await process.kill();
      }
    },
  );

  it('ends when its controller leaves while it is off for years', async () => {
    const options = await testOptions({ memoryMiB: 64 });
    const process = await startProcess(options.backend.binary, machineArguments(options));
    try {
      await new Promise((resolve) => process.stream.once('data', resolve));
      process.stream.on('data', () => undefined).on('error', () => undefined);
      process.stream.write(message(COMMAND.RESET, 2n ** 60n));
      process.stream.write(message(COMMAND.RUN, 2n ** 60n));
      await sleep(500);
      process.stream.destroy();
      expect(await ending(process.ended)).toBe('exit code 0');
    } finally {
      await process.kill();
    }
  });
});

describe('a guest that goes wrong', () => {
  it('and panics boots anew at an exact time, and its machine goes on', async () => {
    const commandLine = 'console=ttyS0 panic=-1 reboot=t rdinit=/nothing root=/dev/nothing';
    const options = await testOptions({ commandLine, nics: [], disks: [] });
    const times: number[] = [];
    for (let time = 0; time < 2; time++) {
      const machine = await Machine.start(options);
      try {
        const stop = await machine.run(20_000 * MS, ['reset', 'panic']);
        const text = stop.events.map((event) => {
          return event.kind === 'console' ? event.bytes.toString('latin1') : '';
        });
        expect(text.join('')).toContain('Kernel panic');
        expect(stop.reason).toBe('event');
        times.push(stop.atNs);
        expect((await machine.run(stop.atNs + 10 * MS)).reason).toBe('limit');
      } finally {
        await machine.close();
      }
    }
    expect(times[1]).toBe(times[0]);
  });

  it('and rings without end is heard in bounded pieces, each at its own time', async () => {
    const commandLine = 'console=ttyS0 quiet panic=-1 rdinit=/init bells';
    const machine = await Machine.start(await testOptions({ commandLine, nics: [], disks: [] }));
    try {
      const pieces: number[] = [];
      for (let piece = 0; piece < 3; piece++) {
        const stop = await machine.run(3600_000 * MS);
        pieces.push(stop.events.length);
        expect(stop.reason).toBe('backlog');
        expect(stop.events.at(-1)?.atNs).toBeLessThanOrEqual(stop.atNs);
      }
      // 4 MiB in messages of at least 24 bytes.
      expect(Math.max(...pieces)).toBeLessThanOrEqual((4 * 2 ** 20) / HEADER_BYTES + 1);
    } finally {
      await machine.close();
    }
  });
});

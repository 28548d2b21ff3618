import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Decoder } from '../../bridge/channel/decoder.ts';
import * as wire from '../../bridge/channel/wire.ts';
import type { Message } from '../../bridge/channel/wire.ts';
import { readEvent } from '../../bridge/machine-events.ts';

const header = readFileSync('bridge/qemu/src/sim-wire.h', 'utf8');

/** `SIM_NAME = number` of the C header. */
function numbersInC(): Map<string, number> {
  return new Map(
    [...header.matchAll(/\bSIM_([A-Z_]+) = (\d+)/g)].map((match) => {
      return [match[1] ?? '', Number(match[2])];
    }),
  );
}

describe('the channel of machines', () => {
  it('has the same numbers in C, in TypeScript and in the docs (CR-49)', () => {
    const inC = numbersInC();
    const named = { ...wire.COMMAND, ...wire.REPORT };
    for (const [name, number] of Object.entries(named))
      expect([name, inC.get(name)]).toEqual([name, number]);
    for (const [name, number] of Object.entries(wire.STOP))
      expect(inC.get(`STOP_${name}`)).toBe(number);
    for (const [name, number] of Object.entries(wire.BLOCK_OPERATION)) {
      expect(inC.get(`BLOCK_${name}`)).toBe(number);
    }
    expect(Number(/SIM_WIRE_VERSION (\d+)/.exec(header)?.[1])).toBe(wire.WIRE_VERSION);
    const docs = readFileSync('docs/machines.md', 'utf8');
    const rows = [...docs.matchAll(/^\| (\d+) \| `([A-Z_]+)` \|/gm)];
    expect(new Map(rows.map((row) => [row[2], Number(row[1])]))).toEqual(
      new Map(Object.entries(named)),
    );
  });

  it('gives the same messages however the bytes are cut', () => {
    const sent = [
      wire.encodeMessage(wire.REPORT.FRAME_OUT, 5n, 1n, Buffer.from('a frame')),
      wire.encodeMessage(wire.REPORT.BELL, 6n, 7n),
      wire.encodeMessage(wire.REPORT.STOPPED, 8n, 9n, Buffer.alloc(70_000, 3)),
    ];
    const bytes = Buffer.concat(sent);
    for (const size of [1, 7, 24, 25, 4096, bytes.length]) {
      const decoder = new Decoder();
      const seen: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        decoder.push(bytes.subarray(at, at + size), ({ type, a, b, payload }: Message) => {
          seen.push(`${type} ${a} ${b} ${payload.length} ${payload.toString('hex', 0, 4)}`);
        });
      }
      expect([size, seen]).toEqual([
        size,
        ['101 5 1 7 61206672', '103 6 7 0 ', '100 8 9 70000 03030303'],
      ]);
    }
  });

  it('refuses garbage with one coded error, whatever it is (fuzz)', () => {
    let state = 99;
    const random = (): number => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31);
    let refused = 0;
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(Array.from({ length: 24 + (random() % 60) }, () => random() >> 7));
      if (round % 2 === 0) bytes.writeUInt32LE(random() % 40, 0);
      if (round % 3 === 0) bytes.writeUInt32LE(100 + (random() % 30), 4);
      try {
        new Decoder().push(bytes, (message) => {
          if (message.type < wire.REPORT.HASHED && message.type > wire.REPORT.STOPPED)
            readEvent(message);
        });
      } catch (error) {
        expect(error).toMatchObject({ code: 'backend/channel', exitCode: 4 });
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1500);
  });
});

import {
  readBytes,
  readInteger,
  readList,
  readPair,
  readRecord,
  readText,
} from '../../sim/index.ts';
import { readPanicState } from './panic-watch.ts';
import { TEXT_LINE_BYTES_MAX } from './text-lines.ts';

/** How far a machine has come, but for what its process holds. Times are the world's. */
export interface MachineCourse {
  /** Of its entropy, when it was started. */
  readonly seed: number;
  readonly bootNs: number;
  /** The world's time less the machine's. */
  readonly offsetNs: number;
  readonly stoppedNs: number;
  readonly instructions: number;
  /** What its main command has told. */
  readonly status: number;
  /** A line of the text port that is not complete. */
  readonly text: Uint8Array;
  readonly panic: ReturnType<typeof readPanicState>;
}

/** What stands in the image of a machine as a guest. */
export interface MachineState extends MachineCourse {
  /** Name and size of each file of the checkpoint; their pages follow one another. */
  readonly files: readonly (readonly [name: string, bytes: number])[];
}

const course = {
  seed: readInteger(),
  bootNs: readInteger(),
  offsetNs: readInteger(),
  stoppedNs: readInteger(),
  instructions: readInteger(),
  status: readInteger(0, 255),
  text: readBytes(TEXT_LINE_BYTES_MAX),
  panic: readPanicState,
};

export const readCourse = readRecord<MachineCourse>(course);

export const readMachineState = readRecord<MachineState>({
  ...course,
  files: readList(readPair(readText(255), readInteger()), 16),
});

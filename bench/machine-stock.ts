import { type QmpClient } from '../bridge/index.ts';
import { median, type Figure } from './harness.ts';
import { booted, figure, wallMs, type OptionsOf } from './machine-figures.ts';
import { processTimeMs } from './thread-time.ts';
import { StockMachine } from './stock-machine.ts';

const S = 1_000_000_000;
const BOOTS = 3;
const TURNS = 9;
/** Virtual time of a turn: about a second of a busy core. */
const TURN_NS = 2 * S;
const INIT = 'init:';
const ICOUNT = 'shift=0,sleep=off';

/** Boots and busy guests, in turns with a stock QEMU that counts instructions. */
export async function againstStock(options: OptionsOf): Promise<readonly Figure[]> {
  return [...(await boots(options)), ...(await rates(options))];
}

function stock(options: OptionsOf, mode: string): StockMachine {
  const { kernel = '', initrd = '', commandLine, memoryMiB } = options(mode);
  return new StockMachine({ kernel, initrd, commandLine, memoryMiB, icount: ICOUNT });
}

/** From the start of a process to the first word of the only program. */
async function boots(options: OptionsOf): Promise<readonly Figure[]> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < BOOTS; round++) {
    ours.push(await wallMs(async () => (await booted(options('idle'))).close()));
    const qemu = stock(options, 'idle');
    try {
      theirs.push(await qemu.saidMs(INIT));
    } finally {
      await qemu.close();
    }
  }
  const [own, other] = [median(ours), median(theirs)];
  const note = `${(own / 1000).toFixed(2)} s against ${(other / 1000).toFixed(2)} s, of ${BOOTS}`;
  return [figure("boot of Debian's kernel", own / other, 'of stock', { atMost: 0.6 }, note)];
}

/** Instructions of a program that computes, in a second of processor time. */
async function rates(options: OptionsOf): Promise<readonly Figure[]> {
  const ours: number[] = [];
  const theirs: number[] = [];
  const machine = await booted(options('busy'));
  const qemu = stock(options, 'busy');
  try {
    await qemu.saidMs(INIT);
    const control = await qemu.control();
    await control.execute('stop', {});
    for (let turn = 0; turn < TURNS; turn++) {
      const { instructions, nowNs, processId } = machine;
      const beforeMs = processTimeMs(processId);
      const takenMs = await wallMs(() => machine.run(nowNs + TURN_NS));
      ours.push((machine.instructions - instructions) / (processTimeMs(processId) - beforeMs));
      theirs.push(await stockRate(qemu, control, takenMs));
    }
    control.close();
  } finally {
    await machine.close();
    await qemu.close();
  }
  const [own, other] = [median(ours), median(theirs)];
  const note = `${show(own)} against ${show(other)} instructions in a second of a core, of ${TURNS} turns`;
  return [figure('busy', own / other, 'of stock', { atLeast: 0.95 }, note)];
}

/** Lets the stopped machine go on for a time; instructions in a millisecond of its processor time. */
async function stockRate(qemu: StockMachine, control: QmpClient, forMs: number): Promise<number> {
  const { icount: before } = await control.execute('query-replay', {});
  const beforeMs = processTimeMs(qemu.processId);
  await control.execute('cont', {});
  await new Promise((resolve) => setTimeout(resolve, forMs));
  await control.execute('stop', {});
  const takenMs = processTimeMs(qemu.processId) - beforeMs;
  const { icount: after } = await control.execute('query-replay', {});
  return (after - before) / takenMs;
}

function show(perMs: number): string {
  return `${(perMs / 1e6).toFixed(2)} G`;
}

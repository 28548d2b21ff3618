import { formatTime, SimError } from '../../sim/index.ts';
import type { Context } from '../context.ts';
import { runToSelector } from '../selector.ts';
import type { Simulation } from '../simulation.ts';
import { INTERACTIVE_HELP, parseCommand, type InteractiveCommand } from './command.ts';
import type { LineQueue } from './line-queue.ts';

/** After so many quanta of a `continue` the input is looked at, for a `pause`. */
const QUANTA_AT_ONCE = 512;

export interface SessionOptions {
  readonly simulation: Simulation;
  /** The nodes' names, in order. */
  readonly nodes: readonly string[];
  readonly lines: LineQueue;
  readonly context: Context;
  /** Whether a status line follows each stretch of a `continue`. */
  readonly watch: boolean;
  /** Shows what has happened since it was called last. */
  readonly report: () => void;
  /** Writes a savepoint of the run as it is after so many quanta. */
  readonly save: (quanta: number, file: string) => void;
}

export interface SessionEnd {
  /** Whether anything was injected or forked: then no schedule alone repeats the run (CR-30). */
  readonly changed: boolean;
  readonly ended: boolean;
}

/**
 * A run that pauses at its start and does what the lines of an input say, each acknowledged at a
 * scheduler boundary (CR-12). A line that is not understood is an error of its own, and the session
 * goes on.
 */
export async function runSession(options: SessionOptions): Promise<SessionEnd> {
  const session = new Session(options);
  session.acknowledge('start');
  for (;;) {
    const line = await options.lines.next();
    if (line === null) break;
    try {
      const command = parseCommand(line, options.nodes);
      if (command === null) continue;
      if (command.kind === 'stop') break;
      await session.obey(command);
      session.acknowledge(line.trim());
    } catch (error) {
      if (!(error instanceof SimError) || !/^(usage|oracle)\//.test(error.code)) throw error;
      session.refuse(line.trim(), error);
    }
  }
  return { changed: session.changed, ended: session.simulation.endReason !== null };
}

class Session {
  readonly simulation: Simulation;
  changed = false;
  private readonly options: SessionOptions;

  constructor(options: SessionOptions) {
    this.options = options;
    this.simulation = options.simulation;
  }

  async obey(command: Exclude<InteractiveCommand, { kind: 'stop' }>): Promise<void> {
    const { simulation } = this;
    switch (command.kind) {
      case 'continue':
        if (command.to === null) await this.toTheEnd();
        else runToSelector(simulation, command.to);
        return;
      case 'pause':
        return;
      case 'step':
        simulation.runUntil({ quanta: simulation.quanta + command.count });
        return;
      case 'step-event':
        simulation.runUntil({ events: simulation.eventCount + command.count });
        return;
      case 'step-assertion':
        simulation.runUntil({ decidedProperties: simulation.decidedPropertyCount + 1 });
        return;
      case 'step-timer':
        simulation.runUntil({ timers: simulation.timerCount + 1 });
        return;
      case 'step-duration':
        simulation.runUntil({ virtualNs: simulation.nowNs + command.ns });
        return;
      case 'inject':
        this.changed = true;
        simulation.inject(command.action);
        return;
      case 'heal':
        this.changed = true;
        simulation.inject({ kind: 'heal' });
        return;
      case 'fork':
        this.changed = true;
        simulation.reseed(command.seed);
        return;
      case 'override':
        this.changed = true;
        simulation.override([command.override]);
        return;
      case 'save':
        return this.save(command.file);
      case 'query':
        return this.query(command.what);
      case 'help':
        return this.help();
    }
  }

  /** Says where the run stands now. */
  acknowledge(command: string): void {
    const { simulation } = this;
    const { output } = this.options.context;
    this.options.report();
    const { nowNs, quanta, eventCount, decisionCount, endReason } = simulation;
    output.record({
      type: 'acknowledged',
      command,
      at_ns: nowNs,
      quanta,
      events: eventCount,
      decisions: decisionCount,
      ended: endReason,
    });
    const end = endReason === null ? '' : `  ended: ${endReason}`;
    const counts = `quantum ${quanta}  event ${eventCount}  decision ${decisionCount}`;
    output.say(output.colors.dim(`— ${command}: at ${formatTime(nowNs)}  ${counts}${end}`));
  }

  refuse(command: string, error: SimError): void {
    const { output } = this.options.context;
    const { code, message, remedy } = error;
    output.record({ type: 'refused', command, code, message, remedy: remedy ?? null });
    output.say(`${code}: ${message}${remedy === undefined ? '' : ` (${remedy})`}`);
  }

  /** Runs on until the end, or until the next line of the input is `pause`. */
  private async toTheEnd(): Promise<void> {
    const { simulation } = this;
    const { lines, watch } = this.options;
    while (simulation.runUntil({ quanta: simulation.quanta + QUANTA_AT_ONCE }) !== 'ended') {
      if (watch) this.acknowledge('continue');
      // Input arrives only while this program waits.
      await new Promise((resolve) => setImmediate(resolve));
      if (lines.peek()?.trim() !== 'pause') continue;
      await lines.next();
      return;
    }
  }

  private save(file: string): void {
    if (this.changed) {
      throw new SimError({
        code: 'usage/not-captured',
        message: 'what was injected here is in no record: this world cannot be saved',
        remedy: 'write the fault as an event of the scenario, then use `sim save`',
      });
    }
    this.options.save(this.simulation.quanta, file);
  }

  private query(what: 'nodes' | 'properties' | 'position'): void {
    const { simulation } = this;
    const { output } = this.options.context;
    if (what === 'position') return;
    if (what === 'nodes') {
      for (const { name, status, code, lives, instructions } of simulation.nodes()) {
        output.record({ type: 'node', name, status, code, lives, instructions });
        output.say(`${name}  ${status}${code === null ? '' : ` ${code}`}  lives ${lives}`);
      }
      return;
    }
    for (const { name, kind, verdict, detail } of simulation.properties()) {
      output.record({ type: 'property', name, kind, verdict, detail });
      output.say(`${name}  ${kind}  ${verdict}  ${detail}`);
    }
  }

  private help(): void {
    const { output } = this.options.context;
    const width = Math.max(...INTERACTIVE_HELP.map(([usage]) => usage.length));
    for (const [usage, meaning] of INTERACTIVE_HELP) {
      output.record({ type: 'help', usage, meaning });
      output.say(`  ${usage.padEnd(width)}  ${meaning}`);
    }
  }
}

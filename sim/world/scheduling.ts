import type { Decisions } from '../kernel/decision.ts';
import type { Stream } from '../kernel/stream.ts';
import type { VirtualNs } from '../kernel/units.ts';
import type { SchedulingDef } from '../plan/scheduling.ts';

/**
 * Decides how long a guest that could go on waits for its processor: stream
 * `node/<node>/schedule`, choice 0 for not at all. It has no state but its streams'.
 */
export class Scheduling {
  private readonly decisions: Decisions;
  private readonly stepNs: VirtualNs;
  private readonly choices: number;
  private readonly streams: readonly Stream[];

  constructor(def: SchedulingDef | undefined, nodeNames: readonly string[], decisions: Decisions) {
    this.decisions = decisions;
    // Arity 1 is no decision: without a definition nobody is asked.
    this.choices = def?.choices ?? 1;
    this.stepNs = def === undefined ? 0 : Math.floor(def.delayNsMax / (def.choices - 1));
    this.streams =
      def === undefined
        ? []
        : nodeNames.map((name) => {
            return decisions.stream(`node/${name}/schedule`);
          });
  }

  /** How long the node waits that could go on at `atNs`. */
  delayNs(node: number, atNs: VirtualNs): VirtualNs {
    const stream = this.streams[node];
    if (stream === undefined) return 0;
    return this.stepNs * this.decisions.decide(stream, atNs, this.choices);
  }
}

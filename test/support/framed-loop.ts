import type { LinkDef, SocketStack } from '../../sim/index.ts';
import { link, NetLoop, type NetProgram, type NetStacks } from './net-loop.ts';

/** What the far link adds to each way. */
export const FAR_LATENCY_NS = 1_000;

/**
 * Two nodes of sockets that speak through frames only: each is a machine to the other. What
 * reaches node 1 of the near network leaves node 0 of the far one, and the other way round.
 */
export class FramedLoop implements NetStacks {
  readonly near: NetLoop;
  readonly far: NetLoop;
  readonly frames: Uint8Array[] = [];
  private readonly programs: readonly NetProgram[];

  constructor(options: {
    readonly link: Partial<LinkDef>;
    readonly seed: number;
    readonly programs: readonly NetProgram[];
  }) {
    this.programs = options.programs;
    const { seed } = options;
    this.near = new NetLoop({
      nodes: ['a', 'b'],
      links: [link(0, 1, options.link), link(1, 0, options.link)],
      seed,
      machines: new Set([1]),
      frameArrives: (_, frame, atNs) => {
        this.pass(this.far, 0, frame, atNs);
        return true;
      },
    });
    const far = { latencyNs: FAR_LATENCY_NS };
    this.far = new NetLoop({
      nodes: ['a-far', 'b-far'],
      links: [link(0, 1, far), link(1, 0, far)],
      seed,
      machines: new Set([0]),
      frameArrives: (_, frame, atNs) => {
        this.pass(this.near, 1, frame, atNs);
        return true;
      },
    });
  }

  get nowNs(): number {
    return Math.max(this.near.nowNs, this.far.nowNs);
  }

  stack(node: number): SocketStack {
    return node === 0 ? this.near.stack(0) : this.far.stack(1);
  }

  /** Runs until nothing is left to happen. */
  run(): void {
    for (;;) {
      for (const program of this.programs) program.act(this);
      const nearNs = this.near.queue.peekNs();
      const farNs = this.far.queue.peekNs();
      const nextNs = Math.min(nearNs, farNs);
      if (nextNs === Infinity) return;
      this.near.nowNs = nextNs;
      this.far.nowNs = nextNs;
      (nearNs <= farNs ? this.near : this.far).step();
    }
  }

  private pass(to: NetLoop, machine: number, frame: Uint8Array, atNs: number): void {
    this.frames.push(frame);
    to.nowNs = atNs;
    to.network.sendFrame(machine, frame);
  }
}

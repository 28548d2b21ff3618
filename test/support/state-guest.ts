import type { Effect, Guest, GuestImage, GuestPort, Outcome } from '../../sim/index.ts';

/** A guest whose program is a function over plain state: the smallest one that can be captured. */
export type Program<State> = (state: State, port: GuestPort, outcome: Outcome) => Effect;

export class StateGuest<State> implements Guest {
  private state: State;
  private readonly port: GuestPort;
  private readonly program: Program<State>;

  constructor(state: State, port: GuestPort, program: Program<State>) {
    this.state = structuredClone(state);
    this.port = port;
    this.program = program;
  }

  resume(outcome: Outcome): Effect {
    this.port.nowNs = outcome.atNs;
    this.port.observedNs = outcome.atNs;
    return this.program(this.state, this.port, outcome);
  }

  capture(): GuestImage {
    return { kind: 'state', version: 1, pages: new Map(), state: structuredClone(this.state) };
  }

  restore(image: GuestImage): void {
    this.state = structuredClone(image.state) as State;
  }

  digest(): string {
    return JSON.stringify(this.state);
  }

  dispose(): void {
    return;
  }
}

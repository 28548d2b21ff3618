import type { Decision, DecisionSource, Door, Opportunity } from '../kernel/decision.ts';

/** An answer to the decision at an address, and how many answers there were when it was given. */
export interface Answer {
  readonly stream: string;
  readonly ordinal: number;
  readonly choice: number;
  /** The arity it was recorded with; null takes any arity above the choice. */
  readonly arity: number | null;
}

/** How far a run met the decisions that it had answers for. */
export interface Drift {
  /** Decisions that were answered. */
  readonly answered: number;
  /** Addresses that no decision has reached. */
  readonly missing: number;
  /** Addresses that were reached, but with another arity: the seed answered instead. */
  readonly misfits: number;
  /** Decisions that there was no answer for. */
  readonly extra: number;
}

/**
 * Answers decisions by their address, in whatever order they come (CR-60). Unlike `Replay` it
 * tolerates a run that asks for more or less: another build, a smaller scenario. Unlike
 * `OverrideSource` it passes on what does not fit. An address that is named twice has the last
 * answer.
 */
export class AddressedAnswers implements DecisionSource {
  readonly door: Door = 'override';
  private readonly answers = new Map<string, Map<number, Answer>>();
  private count = 0;
  private answered = 0;
  private misfits = 0;
  private extra = 0;

  constructor(answers: Iterable<Answer>) {
    for (const answer of answers) {
      let ofStream = this.answers.get(answer.stream);
      if (ofStream === undefined) {
        ofStream = new Map<number, Answer>();
        this.answers.set(answer.stream, ofStream);
      }
      if (!ofStream.has(answer.ordinal)) this.count++;
      ofStream.set(answer.ordinal, answer);
    }
  }

  choose({ stream, arity }: Opportunity): number | undefined {
    const answer = this.answers.get(stream.name)?.get(stream.ordinal);
    if (answer === undefined) {
      this.extra++;
      return undefined;
    }
    if (answer.choice >= arity || (answer.arity !== null && answer.arity !== arity)) {
      this.misfits++;
      return undefined;
    }
    this.answered++;
    return answer.choice;
  }

  /** What has drifted so far. */
  drift(): Drift {
    const { answered, misfits, extra } = this;
    return { answered, missing: this.count - answered - misfits, misfits, extra };
  }
}

/** The answers that recorded decisions stand for. */
export function answersOf(decisions: Iterable<Decision>): Answer[] {
  return Array.from(decisions, ({ stream, ordinal, choice, arity }) => {
    return { stream, ordinal, choice, arity };
  });
}

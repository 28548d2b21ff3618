import type { DecisionSource, Opportunity } from '../kernel/decision.ts';
import { SimError } from '../kernel/errors.ts';

/** An answer that a fork gives to a decision: the address, and the choice. */
export interface Override {
  readonly stream: string;
  readonly ordinal: number;
  readonly choice: number;
}

/** Answers the decisions that a fork overrides (door `override`). */
export class OverrideSource implements DecisionSource {
  readonly door = 'override';
  private readonly answers = new Map<string, Map<number, number>>();

  /** Throws `input/override` for an address that is named twice. */
  constructor(overrides: readonly Override[]) {
    for (const { stream, ordinal, choice } of overrides) {
      const answers = this.answers.get(stream) ?? new Map<number, number>();
      if (answers.has(ordinal)) {
        throw new SimError({
          code: 'input/override',
          message: 'a decision is overridden twice',
          place: `${stream}#${ordinal}`,
          remedy: 'name each decision once',
        });
      }
      answers.set(ordinal, choice);
      this.answers.set(stream, answers);
    }
  }

  choose({ stream, arity }: Opportunity): number | undefined {
    const answers = this.answers.get(stream.name);
    const choice = answers?.get(stream.ordinal);
    if (answers === undefined || choice === undefined) return undefined;
    if (choice >= arity) {
      throw new SimError({
        code: 'input/override',
        message: `choice ${choice} is not among the ${arity} answers`,
        place: `${stream.name}#${stream.ordinal}`,
        remedy: `choose 0 to ${arity - 1}`,
      });
    }
    answers.delete(stream.ordinal);
    return choice;
  }

  /** The addresses that no decision has reached. */
  unreached(): readonly string[] {
    return [...this.answers].flatMap(([stream, answers]) => {
      return [...answers.keys()].map((ordinal) => `${stream}#${ordinal}`);
    });
  }
}

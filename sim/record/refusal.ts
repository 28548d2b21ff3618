/** Why a service refuses a call; clients switch on it. */
export type RefusalKind = 'not_found' | 'invalid' | 'refused' | 'unknown_operation';

/**
 * A business refusal: the client is told, and reads it as an error of the service. Everything else
 * that is thrown while an operation runs is a defect of the world, and ends it loudly (FH-19).
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly kind: RefusalKind;

  constructor(message: string, kind: RefusalKind = 'refused') {
    super(message);
    this.kind = kind;
  }
}

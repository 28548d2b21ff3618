/** The rules of the payment provider. */

interface Charge {
  readonly id: number;
  readonly amount_cents: number;
  readonly refunded_cents: number;
}

interface Provider {
  readonly charges: {
    get(id: number): Charge;
    insert(values: object): Charge;
    update(id: number, values: object): Charge;
  };
}

declare const Refusal: new (message: string) => Error;

export function create_charge(
  world: Provider,
  clock: { now(): string },
  args: { readonly amount_cents: number; readonly currency: string },
): unknown {
  if (args.amount_cents < 50) throw new Refusal('a charge is at least 50 cents');
  const state = { refunded_cents: 0, status: 'succeeded', created_at: clock.now() };
  return world.charges.insert({ ...args, ...state });
}

/** Refunds a part; the parts together never exceed the charge. */
export function refund_charge(
  world: Provider,
  _clock: unknown,
  args: { readonly charge: number; readonly amount_cents: number },
): unknown {
  const { id, amount_cents, refunded_cents } = world.charges.get(args.charge);
  const total = refunded_cents + args.amount_cents;
  if (args.amount_cents < 1) throw new Refusal('a refund is at least one cent');
  if (total > amount_cents)
    throw new Refusal(`only ${amount_cents - refunded_cents} cents are left`);
  const status = total === amount_cents ? 'refunded' : 'partially_refunded';
  return world.charges.update(id, { refunded_cents: total, status });
}

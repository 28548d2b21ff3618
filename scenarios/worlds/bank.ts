/** The rules of the bank. */

interface Account {
  readonly id: number;
  readonly balance_cents: number;
  readonly currency: string;
  readonly is_frozen: boolean;
}

interface Table<Row> {
  get(id: number): Row;
  pick(values: object): Row | null;
  insert(values: object): Row;
  update(id: number, values: object): Row;
}

interface Bank {
  readonly accounts: Table<Account>;
  readonly transfers: Table<{ readonly id: number }>;
}

declare const Refusal: new (message: string) => Error;

interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly amount_cents: number;
  readonly key: string | null;
}

/** Moves money, or refuses and moves none. */
export function transfer(world: Bank, clock: { now(): string }, args: Transfer): unknown {
  if (args.key !== null) {
    const made = world.transfers.pick({ key: args.key });
    if (made !== null) return made;
  }
  const from = world.accounts.get(args.from);
  const to = world.accounts.get(args.to);
  if (from.id === to.id) throw new Refusal('a transfer is between two accounts');
  if (args.amount_cents < 1) throw new Refusal('a transfer is at least one cent');
  if (from.is_frozen || to.is_frozen) throw new Refusal('a frozen account moves no money');
  if (from.currency !== to.currency) throw new Refusal('the accounts have two currencies');
  if (from.balance_cents < args.amount_cents) throw new Refusal('the balance is too low');
  world.accounts.update(from.id, { balance_cents: from.balance_cents - args.amount_cents });
  world.accounts.update(to.id, { balance_cents: to.balance_cents + args.amount_cents });
  return world.transfers.insert({ ...args, made_at: clock.now() });
}

export function freeze_account(world: Bank, _clock: unknown, args: { account: number }): unknown {
  return world.accounts.update(args.account, { is_frozen: true });
}

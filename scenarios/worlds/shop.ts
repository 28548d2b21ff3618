/** The rules of the shop. A handler sees its world, the clock, its arguments and draws; no host. */

const DAY_SECONDS = 86_400;

interface Order {
  readonly id: number;
  readonly status: string;
  readonly total_cents: number;
  readonly placed_at: string;
}

interface Table<Row> {
  get(id: number): Row;
  where(values: object): readonly Row[];
  pick(values: object): Row | null;
  insert(values: object): Row;
  update(id: number, values: object): Row;
}

interface Refund {
  readonly id: number;
  readonly order: number;
  readonly amount_cents: number;
}

interface Shop {
  readonly orders: Table<Order>;
  readonly returns: Table<{ readonly id: number }>;
  readonly refunds: Table<Refund>;
}

interface Clock {
  now(): string;
}

/** A business refusal: the client reads it as an error of the service. */
declare const Refusal: new (message: string) => Error;

/** Opens a return for an order of the last 30 days, once. */
export function create_return(
  world: Shop,
  clock: Clock,
  args: { readonly order: number; readonly reason: string },
): unknown {
  const order = world.orders.get(args.order);
  if (order.status === 'returned') throw new Refusal(`order ${order.id} is returned already`);
  if (days(clock.now()) - days(order.placed_at) > 30) {
    throw new Refusal(`order ${order.id} is older than 30 days`);
  }
  world.orders.update(order.id, { status: 'returned' });
  return world.returns.insert({ ...args, opened_at: clock.now() });
}

/** Pays money back. The same key pays once, whatever was heard of the first attempt. */
export function issue_refund(
  world: Shop,
  clock: Clock,
  args: { readonly order: number; readonly amount_cents: number; readonly key: string | null },
): unknown {
  const order = world.orders.get(args.order);
  if (args.amount_cents < 1) throw new Refusal('a refund is at least one cent');
  if (args.amount_cents > order.total_cents) {
    throw new Refusal(`order ${order.id} was about ${order.total_cents} cents`);
  }
  if (args.key !== null) {
    const paid = world.refunds.pick({ key: args.key });
    if (paid !== null) return paid;
  }
  return world.refunds.insert({ ...args, paid_at: clock.now() });
}

/** Whole days since the year 0, by Hinnant's algorithm: no calendar of the host is at hand. */
function days(time: string): number {
  const [year = 0, month = 1, day = 1] = time.slice(0, 10).split('-').map(Number);
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const seconds = Number(time.slice(11, 13)) * 3600 + Number(time.slice(14, 16)) * 60;
  const whole = era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100);
  return whole + ofYear + seconds / DAY_SECONDS;
}

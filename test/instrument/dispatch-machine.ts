import type { Draws } from './random-source.ts';

/**
 * A random program in the shape that Go gives its functions: a loop that leaves one of its blocks
 * by a `br_table` on a local, and jumps that set the local and go to the loop's head. It can be
 * written as WebAssembly and be interpreted here, so that its count of instructions is known from
 * elsewhere.
 */
export interface Machine {
  /** Which case each value of the local chooses; the last stands for all greater values. */
  readonly table: readonly number[];
  readonly cases: readonly (readonly Statement[])[];
}

type Statement =
  | { readonly kind: 'add'; readonly amount: number }
  | { readonly kind: 'ask' }
  | { readonly kind: 'store' }
  /** To the machine so many levels out, when `mask` of x is zero; always without a mask. */
  | { readonly kind: 'jump'; readonly out: number; readonly to: number; readonly mask: number }
  /** Out of all machines when no bit of `mask` is set in x, as Go leaves a function that unwinds. */
  | { readonly kind: 'leave'; readonly mask: number }
  /** The choice is computed: no jump of this kind can be made shorter. */
  | { readonly kind: 'computed'; readonly out: number }
  | { readonly kind: 'machine'; readonly machine: Machine; readonly below: boolean };

const DEPTH_MAX = 2;

export function randomMachine(draws: Draws, depth = 0): Machine {
  const count = 1 + draws.below(5);
  const table = Array.from({ length: 1 + draws.below(7) }, () => draws.below(count));
  const cases = Array.from({ length: count }, () =>
    Array.from({ length: draws.below(5) }, () => randomStatement(draws, depth)),
  );
  return { table, cases };
}

function randomStatement(draws: Draws, depth: number): Statement {
  const kind = draws.weighted([
    [3, 'add'],
    [2, 'ask'],
    [2, 'store'],
    [6, 'jump'],
    [3, 'leave'],
    [1, 'computed'],
    [depth < DEPTH_MAX ? 2 : 0, 'machine'],
  ] as const);
  const out = draws.chance(70) ? 0 : draws.below(depth + 1);
  switch (kind) {
    case 'add':
      return { kind, amount: 1 + draws.below(100) };
    case 'jump':
      return { kind, out, to: draws.below(8), mask: draws.pick([0, 1, 2, 5]) };
    case 'leave':
      return { kind, mask: draws.pick([15, 7, 96]) };
    case 'computed':
      return { kind, out };
    case 'machine':
      return { kind, machine: randomMachine(draws, depth + 1), below: draws.chance(50) };
    default:
      return { kind };
  }
}

/** Cases that may be entered before the program returns. */
const BUDGET = 40;

/** The program as `run`: x begins as the argument and is the result. */
export function machineText(machine: Machine): string {
  return `
    (memory (export "memory") 1)
    (global $budget (mut i32) (i32.const ${BUDGET}))
    (func (export "run") (param $x i32) (result i32) (local $p0 i32) (local $p1 i32) (local $p2 i32)
      block $out ${machineCode(machine, 0)} end
      (local.get $x))`;
}

function machineCode(machine: Machine, depth: number): string {
  const label = (at: number): string => `$case${depth}.${at}`;
  const open = machine.cases.map((_, at) => `block ${label(at)}`).reverse();
  const cases = machine.cases.map((statements) => {
    const code = statements.map((statement) => statementCode(statement, depth));
    return `end
      global.get $budget i32.eqz if local.get $x return end
      global.get $budget i32.const 1 i32.sub global.set $budget
      ${code.join('\n')}`;
  });
  const table = machine.table.map(label).join(' ');
  return `loop $machine${depth} ${open.join(' ')}
    local.get $p${depth} br_table ${table}
    ${cases.join('\n')} end`;
}

function statementCode(statement: Statement, depth: number): string {
  switch (statement.kind) {
    case 'add':
      return `local.get $x i32.const ${statement.amount} i32.add local.set $x`;
    case 'ask':
      return 'local.get $x call $ask i32.xor local.set $x';
    case 'store':
      return 'local.get $x i32.const 0xfffc i32.and local.get $x i32.store';
    case 'jump': {
      const { mask, to } = statement;
      const target = depth - statement.out;
      const jump = `i32.const ${to} local.set $p${target} br $machine${target}`;
      if (mask === 0) return jump;
      return `local.get $x i32.const ${mask} i32.and i32.eqz if ${jump} end`;
    }
    case 'leave':
      return `local.get $x i32.const ${statement.mask} i32.and i32.eqz br_if $out`;
    case 'computed': {
      const target = depth - statement.out;
      return `local.get $x i32.const 3 i32.and local.set $p${target} br $machine${target}`;
    }
    default: {
      const code = machineCode(statement.machine, depth + 1);
      return statement.below ? `local.get $x ${code} local.set $x` : code;
    }
  }
}

/** How a sequence ended: it went on, it left for a machine so many levels out, or it returned. */
type End = 'next' | 'return' | number;

/** What the program does: its result, the calls it makes, and the instructions it executes. */
export class MachineModel {
  executed = 0;
  asked = 0;
  x: number;
  readonly memory = new Uint8Array(65536);
  private budget = BUDGET;
  private readonly choices = [0, 0, 0];

  constructor(machine: Machine, argument: number) {
    this.x = argument;
    this.machine(machine, 0);
    this.executed += 1;
  }

  private machine(machine: Machine, depth: number): End {
    const { table, cases } = machine;
    for (;;) {
      this.executed += 2;
      let at = table[Math.min(this.choices[depth] >>> 0, table.length - 1)];
      let end: End = 'next';
      for (; end === 'next' && at < cases.length; at += 1) end = this.case(cases[at], depth);
      if (end !== depth) return end;
    }
  }

  private case(statements: readonly Statement[], depth: number): End {
    this.executed += 3;
    if (this.budget === 0) {
      // The function's last local.get does not run, but this one and the return.
      this.executed += 1;
      return 'return';
    }
    this.budget -= 1;
    this.executed += 4;
    for (const statement of statements) {
      const end = this.statement(statement, depth);
      if (end !== 'next') return end;
    }
    return 'next';
  }

  private statement(statement: Statement, depth: number): End {
    switch (statement.kind) {
      case 'add':
        this.executed += 4;
        this.x = (this.x + statement.amount) | 0;
        return 'next';
      case 'ask':
        this.executed += 4;
        this.asked += 1;
        this.x ^= this.asked * this.asked;
        return 'next';
      case 'store':
        this.executed += 5;
        new DataView(this.memory.buffer).setInt32(this.x & 0xfffc, this.x, true);
        return 'next';
      case 'jump':
        return this.jump(statement, depth);
      case 'leave':
        this.executed += 5;
        return (this.x & statement.mask) === 0 ? 'return' : 'next';
      case 'computed':
        this.executed += 5;
        this.choices[depth - statement.out] = this.x & 3;
        return depth - statement.out;
      default: {
        const below = this.x;
        if (statement.below) this.executed += 1;
        const end = this.machine(statement.machine, depth + 1);
        if (end !== 'next' || !statement.below) return end;
        this.executed += 1;
        this.x = below;
        return 'next';
      }
    }
  }

  private jump(statement: Statement & { kind: 'jump' }, depth: number): End {
    const { mask, to } = statement;
    if (mask !== 0) {
      this.executed += 5;
      if ((this.x & mask) !== 0) return 'next';
    }
    this.executed += 3;
    this.choices[depth - statement.out] = to;
    return depth - statement.out;
  }
}

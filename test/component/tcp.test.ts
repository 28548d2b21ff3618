import { beforeAll, describe, expect, it } from 'vitest';
import type { GuestPort } from '../../sim/index.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';
import { SmallWorld } from '../support/small-world.ts';
import { prepareComponent, spawn, tcpComponent } from './programs.ts';

const ARGS = [
  ['tcp', 'server', '7000', '2'],
  ['tcp', 'client', 'server', '7000', 'one', 'two', 'three'],
  ['tcp', 'client', 'server', '7000', 'x'.repeat(300), 'last'],
];

let program: PreparedProgram;

beforeAll(async () => {
  program = prepareComponent(await tcpComponent());
});

function makeWorld(): SmallWorld {
  return new SmallWorld({
    names: ['server', 'first', 'second'],
    make: (port, node) => spawn(program, withArgs(port, ARGS[node])),
  });
}

/** The port of a small world's node has no arguments. */
function withArgs(port: GuestPort, args: readonly string[]): GuestPort {
  return Object.defineProperty(port, 'args', { value: args, configurable: true });
}

function outcome(world: SmallWorld): unknown {
  const statuses = ARGS.map((_, node) => world.world.life(node).status);
  return [world.consoles, statuses, world.chains()];
}

describe('a component with TCP', () => {
  it('talks to others by name, through the adapter’s stdio and its own sockets', () => {
    const world = makeWorld().run();
    expect(world.consoles).toMatchInlineSnapshot(`
      [
        "echo XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
      echo LAST
      echo ONE
      echo TWO
      echo THREE
      ",
        "ONE after 40 ms
      TWO after 50 ms
      THREE after 60 ms
      ",
        "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX after 20 ms
      LAST after 30 ms
      ",
      ]
    `);
    expect(ARGS.map((_, node) => world.world.life(node))).toMatchObject([
      { status: 'exited' },
      { status: 'exited' },
      { status: 'exited' },
    ]);
  });

  it('restored into fresh guests at every step of the world: nothing differs', () => {
    const plain = makeWorld().run();
    const moved = makeWorld();
    let steps = 0;
    do {
      moved.restore(moved.capture());
      steps++;
    } while (moved.step());
    expect(steps).toBeGreaterThan(20);
    expect(outcome(moved)).toEqual(outcome(plain));
  });

  it('forked in the middle: both futures are the same while nothing else is decided', () => {
    const world = makeWorld();
    for (let steps = 0; steps < 12; steps++) world.step();
    const checkpoint = world.capture();
    const consoles = [...world.consoles];
    const first = outcome(world.run());
    world.restore(checkpoint);
    world.consoles.splice(0, consoles.length, ...consoles);
    expect(outcome(world.run())).toEqual(first);
  });
});

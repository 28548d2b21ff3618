import { SimError } from '../../sim/index.ts';
import { readBundle } from '../bundle-input.ts';
import type { Context } from '../context.ts';
import { makeEngine } from '../engine.ts';
import { MachineHost } from '../machines/machine-host.ts';
import type { OptionsOf } from '../options.ts';
import { restoreCheckpoint } from '../record.ts';
import { Simulation } from '../simulation.ts';
import { branchPoint } from './fork.ts';

/**
 * `sim debug`: a fork of a recorded world in which gdb holds one machine. The fork is no record: it
 * ends with the command, and the bundle stays as it is.
 */
export function run(
  args: readonly string[],
  options: OptionsOf<'debug'>,
  context: Context,
): number {
  const bundle = readBundle(args[0] ?? '', context);
  const { scenario, images, machines } = bundle;
  const node = options.gdb ?? '';
  const debugged = machineNamed(node, scenario.world.nodes);
  const { checkpoint, proof } = branchPoint(bundle, options.at, context);
  if (checkpoint.guests[debugged] === null) throw notRunning(node, proof.selector);
  const engine = makeEngine(context.artifactDir);
  const machineHost = new MachineHost(machines, { purpose: 'debugging' });
  const seed = scenario.seed ?? 0;
  const base = { scenario, seed, images, engine, machines };
  const simulation = new Simulation({ ...base, machineHost, debugged });
  const { output } = context;
  try {
    restoreCheckpoint(simulation, checkpoint);
    const { port } = machineHost.ask({ kind: 'debug' });
    const target = `127.0.0.1:${port}`;
    const command = `gdb -ex 'target remote ${target}'`;
    const atNs = simulation.nowNs;
    output.record({ type: 'debug', node, at_ns: atNs, target, command });
    output.say(`${node} stands still for gdb: ${command}`);
    machineHost.ask({ kind: 'attached' });
    output.say('gdb is attached: the world goes on when it says so');
    simulation.runUntil({});
    const { verdict, reason, endNs } = simulation.finish();
    output.record({ type: 'result', verdict, reason, end_ns: endNs, exit_code: 0 });
    output.say(`the fork has ended: ${verdict}`);
    return 0;
  } finally {
    simulation.dispose();
    machineHost.close();
  }
}

type Nodes = readonly { readonly name: string; readonly guest: { readonly kind: string } }[];

/** The place of a node that is a machine. */
function machineNamed(name: string, nodes: Nodes): number {
  const place = nodes.findIndex((each) => each.name === name && each.guest.kind === 'vm');
  if (place >= 0) return place;
  const names = nodes.filter(({ guest }) => guest.kind === 'vm').map((each) => each.name);
  throw new SimError({
    code: 'usage/gdb',
    message: name === '' ? 'say which machine, with --gdb' : `no machine is called "${name}"`,
    remedy: names.length === 0 ? 'the world has no machines' : `name one of ${names.join(', ')}`,
  });
}

function notRunning(name: string, at: string): SimError {
  return new SimError({
    code: 'usage/gdb',
    message: `the machine "${name}" does not run at ${at}`,
    remedy: 'choose another point with --at',
  });
}

import { join } from 'node:path';
import {
  checkpointLogs,
  decodeCheckpoint,
  decodePages,
  encodeCheckpoint,
  PagePool,
  SimError,
  type FatCheckpoint,
  type MachinesIdentity,
  type RunOutcome,
  type SavepointProof,
  type ScenarioDef,
} from '../../sim/index.ts';
import type { CompiledScenario } from '../../scenarios/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { packBundle } from '../bundle.ts';
import type { Context } from '../context.ts';
import { environmentJson, planJson } from '../documents.ts';
import { engineIdentity, makeEngine } from '../engine.ts';
import { askedMachines } from '../machines/machine-backend.ts';
import type { OptionsOf } from '../options.ts';
import { machinesOf, restoreCheckpoint } from '../record.ts';
import { findScenario } from '../scenario-input.ts';
import { chooseSeed } from '../seed.ts';
import { parseSelector, runToSelector, type Selector } from '../selector.ts';
import { Simulation, type SimulationOptions } from '../simulation.ts';
import { ConsoleCollector } from '../timeline.ts';
import { Trace } from '../trace.ts';
import { savedTraceJson } from '../trace-document.ts';

/**
 * `sim save`: runs to a boundary and writes the whole world as it is there, after proving by
 * replay that the record leads to the same world (CR-17, CR-101).
 */
export function run(args: readonly string[], options: OptionsOf<'save'>, context: Context): number {
  if (options.at === undefined) {
    throw new SimError({
      code: 'usage/at',
      message: '`sim save` needs --at',
      remedy: 'say where to stop, such as --at virtual-time=5s',
    });
  }
  const found = findScenario(args[0], context);
  const chosen = chooseSeed(context, found.def.seed);
  const scenario = { ...found.def, seed: chosen.seed };
  context.store.putScenario(found.def, found.images);
  context.output.say(`Seed: ${chosen.seed} (${chosen.source})`);
  const { at, label, out, thin } = options;
  writeSavepoint({ scenario, found, at, label, out, thin, context });
  return 0;
}

export interface SavepointRequest {
  /** Its seed is the run's. */
  readonly scenario: ScenarioDef;
  readonly found: CompiledScenario;
  /** A boundary, as `parseSelector` reads it. */
  readonly at: string;
  readonly label?: string | undefined;
  /** Where it goes; undefined chooses a name among the artefacts. */
  readonly out: string | undefined;
  readonly thin?: boolean;
  readonly context: Context;
}

/** Runs from the start to the boundary, proves what it finds, and writes the savepoint. */
export function writeSavepoint(request: SavepointRequest): void {
  const { scenario, found, out, context } = request;
  const { output } = context;
  const selector = parseSelector(request.at);
  const engine = makeEngine(context.artifactDir);
  const machines = askedMachines(scenario, context);
  const base = { scenario, seed: scenario.seed ?? 0, images: found.images, engine, machines };
  const { frontierNs, ...reached } = reach(base, selector, context);
  const { checkpoint, outcome } = reached;
  proveCheckpoint(base, selector, checkpoint);
  const proof = {
    selector: selector.text,
    label: request.label ?? '',
    frontierNs,
    quanta: outcome.quanta,
    decisionCount: outcome.decisionCount,
    eventCount: outcome.eventCount,
    decisionChain: outcome.decisionChain,
    eventChain: outcome.eventChain,
  };
  const thin = request.thin ?? false;
  const bytes = packSavepoint({ scenario, found, proof, thin, ...reached });
  const place = out ?? join('savepoints', `${savepointName(scenario, selector)}.athanor`);
  const path = out === undefined ? join(context.artifactDir, place) : context.path(place);
  writeAtomically(path, bytes);
  const { label, ...coordinates } = proof;
  output.record({ type: 'savepoint', path, label, ...coordinates });
  output.say(`saved at ${selector.text}: quantum ${proof.quanta}, event ${proof.eventCount}`);
  output.say(`savepoint  ${path}`);
}

function savepointName(scenario: ScenarioDef, selector: Selector): string {
  const plain = `${scenario.name}-seed${scenario.seed ?? 0}-${selector.text}`;
  return plain.replaceAll(/[^A-Za-z0-9._=-]/g, '-').slice(0, 100);
}

interface Reached {
  readonly checkpoint: FatCheckpoint;
  readonly outcome: RunOutcome;
  readonly frontierNs: number;
  readonly identity: MachinesIdentity | null;
  /** The text of `trace.json` so far. */
  readonly trace: string | null;
}

/** Runs to the boundary; on failure a trace ends with a record that says so (CR-18). */
function reach(base: SimulationOptions, selector: Selector, context: Context): Reached {
  const { trace: tracePath } = context.globals;
  const name = `${base.scenario.name}-seed${base.seed}`;
  const trace = tracePath === undefined ? null : Trace.start(context.path(tracePath), name);
  const frames = trace === null ? {} : { onDecisionFrame: trace.frame, onEventFrame: trace.frame };
  const collector = new ConsoleCollector();
  const simulation = new Simulation({
    ...base,
    ...frames,
    onConsole: (node, descriptor, bytes, atNs) => {
      collector.piece({ node, descriptor, bytes: bytes.slice(), atNs });
    },
  });
  try {
    runToSelector(simulation, selector);
    const checkpoint = simulation.capture();
    const { quanta, decisionCount, eventCount, nowNs } = simulation;
    const identity = machinesOf(simulation);
    const written = savedTraceJson(simulation.notes, collector);
    const fingerprints = simulation.finish();
    const last = fingerprints.fingerprints.at(-1);
    const outcome: RunOutcome = {
      verdict: 'inconclusive',
      reason: 'stopped',
      signature: '',
      endNs: fingerprints.endNs,
      quanta,
      decisionCount,
      eventCount,
      decisionChain: last?.decisionChain ?? '',
      eventChain: last?.eventChain ?? '',
      lastDraw: fingerprints.lastDraw,
      properties: fingerprints.properties,
      nodes: fingerprints.nodes,
    };
    return { checkpoint, outcome, frontierNs: nowNs, identity, trace: written };
  } catch (error) {
    if (error instanceof SimError && error.code === 'oracle/boundary') {
      trace?.note('save_boundary_failure', error.message);
    }
    throw error;
  } finally {
    trace?.close();
    simulation.dispose();
  }
}

/**
 * The oracle: the saved world must equal the one that replaying the record leads to, and must come
 * back unchanged from a restore, byte for byte.
 */
function proveCheckpoint(
  base: SimulationOptions,
  selector: Selector,
  checkpoint: FatCheckpoint,
): void {
  const logs = checkpointLogs(checkpoint);
  const pool = new PagePool();
  const saved = encodeCheckpoint(checkpoint, pool);
  const again = new Simulation({ ...base, replay: logs });
  try {
    runToSelector(again, selector);
    expectEqual(saved, again.capture(), 'replaying the record');
    restoreCheckpoint(again, decodeCheckpoint(saved, decodePages(pool.encode()), logs));
    expectEqual(saved, again.capture(), 'restoring it');
  } finally {
    again.dispose();
  }
}

function expectEqual(saved: Uint8Array, found: FatCheckpoint, how: string): void {
  if (Buffer.compare(saved, encodeCheckpoint(found, new PagePool())) === 0) return;
  throw new SimError({
    code: 'oracle/checkpoint',
    message: `the saved world is not proven: ${how} gives another one`,
    remedy: 'run `sim verify` on the scenario; nothing was saved',
  });
}

interface Saved extends Omit<Reached, 'frontierNs'> {
  readonly scenario: ScenarioDef;
  readonly found: CompiledScenario;
  readonly proof: Omit<SavepointProof, 'checkpoint'>;
  readonly thin: boolean;
}

function packSavepoint(saved: Saved): Uint8Array {
  const { scenario, found, checkpoint, outcome, proof, thin, identity, trace } = saved;
  return packBundle({
    scenario,
    images: found.images,
    sources: found.sources,
    ...checkpointLogs(checkpoint),
    fingerprints: checkpoint.fingerprints,
    checkpoint,
    plan: planJson(scenario),
    trace,
    environment: environmentJson(),
    manifest: {
      kind: 'savepoint',
      engine: engineIdentity(),
      ...(identity === null ? {} : { machines: identity }),
      seed: scenario.seed ?? 0,
      thin,
      outcome,
      savepoint: proof,
      lineage: null,
    },
  });
}

import { existsSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { compileScenario, LocalFiles, type CompiledScenario } from '../scenarios/index.ts';
import {
  attemptStream,
  decodeDecisions,
  driveEvents,
  driveReport,
  driveScenario,
  gradeDrive,
  LOG_DECISIONS,
  readDriveFaults,
  readDrivePlan,
  readWholeLog,
  SimError,
  type DriveEnd,
  type DrivePlan,
  type DriveReport,
  type Finding,
} from '../sim/index.ts';
import type { WasmEngine } from '../wasm/index.ts';
import { ErrorList } from './errors.ts';
import { runToEnd, type ConsolePiece, type RunRecord } from './record.ts';

/** The node that the target is. */
export const TARGET_NODE = 'target';

/** A plan that was read, as a scenario. */
export interface Drive {
  readonly plan: DrivePlan;
  readonly scenario: CompiledScenario;
}

/**
 * Makes the scenario of a plan's text. `file` is how messages call it, `folder` where the paths in
 * it start. Throws `input/drive-plan` for a plan that is none, else what the target's file gives.
 */
export function makeDrive(
  text: string,
  options: {
    readonly file: string;
    readonly folder: string;
    readonly strict: boolean;
    readonly virtualNsMax: number;
    /** More variables of the target's environment, at each of its starts (KS-42); these win. */
    readonly environment?: Readonly<Record<string, string>>;
  },
): Drive {
  const { file, folder, strict, virtualNsMax, environment = {} } = options;
  const plan = readDrivePlan(text, file, strict);
  const directives = readDriveFaults(text, file, 0);
  const worlds = Object.entries(plan.worlds);
  const value = {
    schema_version: 1,
    name: 'drive',
    until: 'quiescence',
    limits: { virtual_time: `${virtualNsMax}ns` },
    guest: {
      target: targetOf(plan.target, folder),
      ...Object.fromEntries(worlds.map(([name, record]) => [`world-${name}`, { record }])),
    },
    node: [
      {
        name: TARGET_NODE,
        guest: 'target',
        // Braces are no placeholders here.
        args: plan.args.map((arg) => arg.replace(/[{}]/g, '$&$&')),
        env: {
          ...(plan.flowLeaseMs === null ? {} : { ATHANOR_FLOW_LEASE_MS: String(plan.flowLeaseMs) }),
          ...environment,
        },
        start: '1ms',
      },
      ...worlds.map(([name]) => ({ name, guest: `world-${name}` })),
    ],
  };
  const compiled = compileScenario(value, { file, locate: () => null }, new LocalFiles(folder));
  if (!compiled.ok) throw new ErrorList(compiled.errors);
  const { def, images, sources } = compiled.scenario;
  return { plan, scenario: { def: driveScenario(def, plan, directives), images, sources } };
}

/** How a target is given: a module, a model's file, else a guest that comes with the simulator. */
function targetOf(target: string, folder: string): Record<string, string> {
  const ending = extname(target);
  if (ending === '.wasm') return { wasm: target };
  if (['.ts', '.mjs', '.js'].includes(ending)) return { model: target };
  return existsSync(resolve(folder, target)) ? { wasm: target } : { builtin: target };
}

export interface DriveResult {
  readonly report: DriveReport;
  /** Null where the target could not be started at all. */
  readonly record: RunRecord | null;
  /** How many directives of each target were consumed (KS-17): what the side file exports. */
  readonly cursor: Readonly<Record<string, number>>;
}

/** Runs a drive to its end and grades it. */
export function runDrive(
  { plan, scenario }: Drive,
  options: {
    readonly planName: string;
    readonly seed: number;
    readonly engine: WasmEngine;
    readonly onConsole: (piece: ConsolePiece) => void;
  },
): DriveResult {
  const { planName, seed, engine, onConsole } = options;
  const def = { ...scenario.def, seed };
  let record: RunRecord;
  try {
    record = runToEnd({ scenario: def, images: scenario.images, engine, onConsole });
  } catch (error) {
    // What cannot be started at all is no crash (KS-38).
    if (!(error instanceof SimError) || !/^(guest|scenario)\//.test(error.code)) throw error;
    const end = { exitCode: 1, restarts: 0, hasCrashed: false };
    return { report: driveReport(planName, end, [unspawned(error)]), record: null, cursor: {} };
  }
  const markers = record.notes.flatMap(({ kind, node, text }) => {
    return kind === 'marker' && node === 0 ? [text] : [];
  });
  const end = endOf(record);
  const events = driveEvents(markers);
  const findings = [...gradeDrive(plan.assert, events, end, plan.maxRestarts)];
  if (record.error !== null) findings.push(unspawned(record.error));
  return { report: driveReport(planName, end, findings), record, cursor: cursorOf(record) };
}

function unspawned({ message }: SimError): Finding {
  return { level: 'error', topic: 'spawn', detail: `the target cannot be run: ${message}` };
}

function endOf({ outcome }: RunRecord): DriveEnd {
  const target = outcome.nodes[0];
  // What could not be started at all is no crash (KS-38).
  if (target === undefined) return { exitCode: 1, restarts: 0, hasCrashed: false };
  const restarts = Math.max(0, target.lives - 1);
  switch (target.status) {
    case 'exited':
      return { exitCode: target.code ?? 0, restarts, hasCrashed: false };
    case 'crashed':
      return { exitCode: 137, restarts, hasCrashed: true };
    case 'trapped':
      return { exitCode: 134, restarts, hasCrashed: false };
    default:
      // It waits for ever, or its time is up: what `timeout` of a shell gives.
      return { exitCode: 124, restarts, hasCrashed: false };
  }
}

function cursorOf({ schedule, scenario }: RunRecord): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { stream } of decodeDecisions(readWholeLog(schedule, LOG_DECISIONS))) {
    counts.set(stream, (counts.get(stream) ?? 0) + 1);
  }
  const queues = scenario.plan.directives ?? [];
  return Object.fromEntries(
    queues.map(({ target, queue }) => {
      const size = queue.reduce((sum, { repeat }) => sum + repeat, 0);
      const attempts = counts.get(attemptStream(TARGET_NODE, target)) ?? 0;
      return [target, Math.min(attempts, size)];
    }),
  );
}

/** The folder in which the paths of a plan start. */
export function planFolder(path: string): string {
  return dirname(path);
}

/** What a plan that cannot be read is told as (KS-37). */
export function unreadablePlan(file: string, error: unknown): SimError {
  const why =
    error instanceof Error ? error.message.replace(/^cannot read "[^"]*": /, '') : 'unknown';
  return new SimError({
    code: 'input/drive-plan',
    message: `could not read ${file}: ${why}`,
    remedy: 'give the path of a plan file',
    cause: error,
  });
}

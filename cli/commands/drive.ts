import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import { readInput } from '../../scenarios/index.ts';
import { decodeUtf8, NS_PER_S, SimError } from '../../sim/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { bundleOfRun, writeBundle } from '../bundle-write.ts';
import type { Context } from '../context.ts';
import {
  makeDrive,
  planFolder,
  runDrive,
  unreadablePlan,
  type Drive,
  type DriveResult,
} from '../drive.ts';
import { makeEngine } from '../engine.ts';
import { reportError } from '../errors.ts';
import type { OptionsOf } from '../options.ts';
import { ConsoleCollector } from '../timeline.ts';

/** A drive ends after an hour of virtual time unless the command line says otherwise. */
const VIRTUAL_NS_DEFAULT = 3_600 * NS_PER_S;

/**
 * `sim drive`: one target under a plan of directives, started again when it crashed, then graded.
 * Exit code 0 without findings, 2 with findings, 1 for a plan that is none (KS-36).
 */
export function run(
  args: readonly string[],
  options: OptionsOf<'drive'>,
  context: Context,
): number {
  const shown = args[0] ?? '';
  const path = context.path(shown);
  // A cursor of an earlier run goes first, also where the target then cannot be started (KS-18).
  const cursorPath = `${path.replace(/\.json$/, '')}.cursor.json`;
  removeStale(cursorPath);
  let drive: Drive;
  try {
    drive = makeDrive(readPlan(path, shown), {
      file: shown,
      folder: planFolder(path),
      strict: options.strict,
      virtualNsMax: options.maxVirtualTime ?? VIRTUAL_NS_DEFAULT,
    });
  } catch (error) {
    if (!(error instanceof SimError) || error.code !== 'input/drive-plan') throw error;
    const { format } = context.globals;
    reportError(error, context.host, format === undefined || format === 'table' ? 'text' : 'json');
    return 1;
  }
  const collector = new ConsoleCollector();
  const seed = context.globals.seed ?? drive.plan.seed ?? 0;
  const result = runDrive(drive, {
    planName: shown,
    seed,
    engine: makeEngine(context.artifactDir),
    onConsole: collector.piece,
  });
  exportCursor(cursorPath, result, context);
  tell(result, context);
  const { scenario } = drive;
  if (result.record === null) return 2;
  const bundle = bundleOfRun({
    record: result.record,
    images: scenario.images,
    sources: scenario.sources,
    lineage: null,
    thin: false,
    collector,
  });
  const name = basename(shown).replace(/\.json$/, '');
  const bundlePath = writeBundle(bundle, { name, seed, out: options.out, context });
  context.output.say(`bundle ${bundlePath}`);
  context.output.say(`repeat ${context.host.command} replay ${bundlePath}`);
  return result.report.ok ? 0 : 2;
}

function readPlan(path: string, shown: string): string {
  try {
    return decodeUtf8(readInput(path, shown));
  } catch (error) {
    throw unreadablePlan(shown, error);
  }
}

function removeStale(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    return;
  }
}

/** The side file is an export: where it cannot be written, nothing is lost (KS-19). */
function exportCursor(path: string, { cursor }: DriveResult, { output }: Context): void {
  if (Object.keys(cursor).length === 0) return;
  try {
    writeAtomically(path, Buffer.from(`${JSON.stringify(cursor)}\n`));
  } catch (error) {
    if (!(error instanceof SimError)) throw error;
    output.warn(`the cursor was not exported: ${error.message}`);
  }
}

function tell({ report }: DriveResult, { output }: Context): void {
  output.record({ type: 'drive', ...report });
  const { ok, exit_code: exitCode, restarts, findings, warnings } = report;
  const { colors } = output;
  if (ok) output.say(colors.green(`passed — exit ${exitCode}, ${restarts} restart(s)`));
  else output.say(colors.red(`found ${findings.length} problem(s)`));
  for (const { topic, detail } of findings) output.say(`  ${topic}: ${detail}`);
  for (const { topic, detail } of warnings) output.say(`  warning ${topic}: ${detail}`);
  if (!ok) output.say(`exit ${exitCode}, ${restarts} restart(s)`);
}

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findBackend } from '../../bridge/index.ts';
import { builtinScenarioNames } from '../../scenarios/index.ts';
import { SimError } from '../../sim/index.ts';
import { writeAtomically } from '../atomic-write.ts';
import { machinesFolder } from '../cache-folder.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { engineIdentity } from '../engine.ts';
import { checkTinyRun, checkWasmFeatures } from '../self-check.ts';

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** `sim doctor`: says whether this computer can run simulations, and what is missing. */
export function run(_args: readonly string[], _options: unknown, context: Context): number {
  const findings: Finding[] = [
    checkNode(),
    examine('WebAssembly features', checkWasmFeatures),
    examine('artefact folder', () => checkWritable(context.artifactDir)),
    examine('built-in scenarios', () => builtinScenarioNames().join(', ')),
    examine('a tiny run, twice', checkTinyRun),
    examine('machines', () => checkMachines(context)),
  ];
  const { output } = context;
  const { name, version, schema } = engineIdentity();
  const { backend } = context;
  output.record({ type: 'engine', name, version, schema, backend });
  output.say(`${name} ${version}, schema ${schema}, backend ${backend}`);
  for (const finding of findings) output.record({ type: 'check', ...finding });
  const rows = findings.map(({ check, ok, detail }) => {
    return [ok ? output.colors.green('ok') : output.colors.red('bad'), check, detail];
  });
  for (const line of layOut(rows)) output.say(line);
  const bad = findings.filter((finding) => !finding.ok);
  if (bad.length === 0) return 0;
  throw new SimError({
    code: 'backend/doctor',
    message: `this computer cannot run simulations: ${bad.map((finding) => finding.check).join(', ')}`,
    remedy: 'see what the checks say, and docs/cli.md',
  });
}

function examine(check: string, look: () => string): Finding {
  try {
    return { check, ok: true, detail: look() };
  } catch (error) {
    return { check, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Node 20.19 is the first 20 that loads all that we use. */
function checkNode(): Finding {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return { check: 'Node.js', ok, detail: ok ? node : `${node}, expected 20.19 or later` };
}

/** Machines are an extra: not set up is no fault, but a set-up that no longer holds is one. */
function checkMachines({ host }: Context): string {
  try {
    const { kind, version, identity } = findBackend(machinesFolder(host));
    return `backend ${kind}, QEMU ${version}, identity ${identity.slice(0, 16)}`;
  } catch (error) {
    if (!(error instanceof SimError) || error.code !== 'backend/missing') throw error;
    return 'not set up; `sim vm setup` does it';
  }
}

function checkWritable(folder: string): string {
  const probe = join(folder, `probe-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  writeAtomically(probe, Buffer.from('probe'));
  rmSync(probe);
  return folder;
}

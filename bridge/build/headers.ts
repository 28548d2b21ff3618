import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import type { QemuSource } from './debian-source.ts';
import { withDraft } from './draft.ts';
import { runProgram } from './program.ts';

/** What the plugin needs of QEMU's sources: headers, and the generator of those for QAPI. */
const PARTS = [
  'include',
  'qapi',
  'scripts/qapi',
  'scripts/qapi-gen.py',
  'VERSION',
  'accel/tcg',
  'host',
  'linux-headers',
  'migration',
  'target/i386',
  'tcg',
];
const TIMEOUT_MS = 180_000;

/**
 * A folder with the headers of QEMU's source and, in `generated`, those that its build makes of
 * the QAPI schema. Made once a source; no configuration of QEMU's build is needed.
 */
export async function qemuHeaders(
  source: QemuSource,
  cacheFolder: string,
  say: (line: string) => void,
): Promise<string> {
  const folder = join(cacheFolder, `qemu-${source.version}-headers-${source.digest.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  say('unpacking the headers of QEMU');
  return withDraft(cacheFolder, async (draft) => {
    const archive = join(source.folder, source.original);
    const top = `qemu-${source.version}`;
    const parts = PARTS.map((part) => `${top}/${part}`);
    await runProgram('tar', ['-xf', archive, '-C', draft, '--strip-components=1', ...parts], {
      remedy: 'install the packages tar and xz-utils',
      timeoutMs: TIMEOUT_MS,
    });
    const generator = join(draft, 'scripts', 'qapi-gen.py');
    const schema = join(draft, 'qapi', 'qapi-schema.json');
    await runProgram(
      'python3',
      ['-B', generator, '-o', join(draft, 'generated', 'qapi'), '-b', schema],
      {
        remedy: 'install the package python3',
        timeoutMs: TIMEOUT_MS,
      },
    );
    if (!existsSync(folder)) renameSync(draft, folder);
    return folder;
  });
}

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A QEMU in `folder` that is told something else than it was asked: each argument in which `from`
 * stands has `to` in its place. What a test of determinism takes away, it puts back with this.
 */
export function wrappedQemu(folder: string, binary: string, from: string, to: string): string {
  const path = join(folder, `qemu-${from.replaceAll(/\W/g, '-')}`);
  const script = [
    '#!/bin/bash',
    'arguments=()',
    `for each in "$@"; do arguments+=("\${each//${from}/${to}}"); done`,
    `exec ${binary} "\${arguments[@]}"`,
  ];
  writeFileSync(path, `${script.join('\n')}\n`);
  chmodSync(path, 0o755);
  return path;
}

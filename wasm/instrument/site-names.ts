import { OP } from '../binary/opcodes.ts';
import type { CodeWriter } from './code-writer.ts';
import type { Sites } from './sites.ts';

/** Replaces a site's name, in a local, by its number: see `Sites.name`. Most functions need nothing. */
export function emitSiteNumber(code: CodeWriter, sites: Sites, local: number): void {
  const renamed = sites.renamed();
  if (renamed.length === 0) return;
  code.block();
  for (const [name, id] of renamed) {
    code.localGet(local);
    code.i32Const(name);
    code.byte(OP.i32Eq);
    code.if();
    code.i32Const(id);
    code.localSet(local);
    code.br(1);
    code.end();
  }
  code.end();
}

import { NS_PER_MS, READY_WITHIN_NS, type ReadyCondition, type ReadyDef } from '../sim/index.ts';
import type { CompileContext } from './compile-context.ts';
import type { MachineFields } from './schema-machine.ts';
import type { ReadyFields } from './schema-ready.ts';
import type { KeyPath } from './toml.ts';

/** Where a machine's first life begins (CR-55); undefined for one that boots. */
export function compileReady(
  { ready, ready_within }: MachineFields,
  path: KeyPath,
  context: CompileContext,
): ReadyDef | undefined {
  if (ready !== undefined) {
    return { when: conditionOf(ready), withinNs: ready_within ?? READY_WITHIN_NS };
  }
  if (ready_within !== undefined) {
    const why = '"ready_within" says how long a machine may take to be what "ready" says';
    context.fail('machine', [...path, 'ready_within'], why, 'add "ready", or leave it out');
  }
  return undefined;
}

function conditionOf(ready: ReadyFields): ReadyCondition {
  if (ready === 'bell') return { kind: 'bell' };
  if ('console' in ready) return { kind: 'console', text: ready.console };
  if ('instructions' in ready) return { kind: 'instructions', count: ready.instructions };
  return { kind: 'network-idle', forNs: ready.network_idle_ms * NS_PER_MS };
}

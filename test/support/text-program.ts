import wabt from 'wabt';
import { CodeStore } from '../../wasm/runtime/code-store.ts';
import type { HostContext } from '../../wasm/runtime/host-context.ts';
import type { HostFunction, HostSet } from '../../wasm/runtime/host-set.ts';
import { prepareProgram } from '../../wasm/runtime/prepare.ts';
import type { PreparedProgram } from '../../wasm/runtime/prepared.ts';

/** Host functions `host.sleep` (counts its calls) and `host.log`. */
class TestHost implements HostSet {
  readonly functions: readonly HostFunction[];
  private count = 0;

  constructor(context: HostContext) {
    this.functions = [
      (ns) => {
        if (context.resumed === null) {
          context.block({ deadlineNs: context.waitStartNs + Number(ns), interests: [] });
          return 0n;
        }
        return BigInt(++this.count);
      },
      (value) => {
        context.port.console(1, Buffer.from(`${String(value)} at ${context.localNs()}`));
      },
    ];
  }

  attach(): void {
    return;
  }

  exitCode(): number {
    return 0;
  }

  capture(): unknown {
    return { count: this.count };
  }

  restore(state: unknown): void {
    this.count = (state as { count: number }).count;
  }
}

/** A program in the text format, prepared with `host.sleep` and `host.log` as its host. */
export async function prepareText(source: string): Promise<PreparedProgram> {
  const { parseWat } = await wabt();
  const binary = parseWat('test.wat', source).toBinary({}).buffer;
  const imports = ['sleep', 'log'].flatMap((name, index) => {
    if (!source.includes(`"host" "${name}"`)) return [];
    return [{ module: 'host', name, target: { kind: 'host' as const, index } }];
  });
  return prepareProgram(
    {
      kind: 'preview1',
      modules: [{ binary, sharedState: 'define', suspends: (from) => from === 'host', imports }],
      entries: [{ module: 0, exportName: '_start', kind: 'main' }],
      hostNames: ['sleep', 'log'],
      makeHost: (context) => new TestHost(context),
    },
    16,
    new CodeStore(null, []),
  );
}

import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adapterFolders } from '../../bridge/build/adapter.ts';
import { fetchQemuSource } from '../../bridge/build/debian-source.ts';
import { qemuHeaders } from '../../bridge/build/headers.ts';
import { compilePlugin } from '../../bridge/build/plugin.ts';
import type { MachineBackend } from '../../bridge/index.ts';
import { machineCache, testBackend } from './machine-fixture.ts';

/** A measure of the adapter, in the file where it stands, and that file without it. */
interface Alteration {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A function of the adapter that says whether QEMU was started without the measure. */
const ASK = `
#include <stdlib.h>
#include <sys/random.h>
static inline bool without(const char *measure)
{
    const char *asked = getenv("ALTERED");

    return asked && !strcmp(asked, measure);
}

static inline uint64_t of_the_host(void)
{
    uint64_t value;

    g_assert(getrandom(&value, sizeof(value), 0) == sizeof(value));
    return value;
}
`;

/** From here on a host may be slow: kernels boot undisturbed. */
export const SLOW_FROM_NS = 1_690_000_000;

/** Each puts one source of entropy back, in a plugin that is told so when it starts. */
const ALTERATIONS = {
  seed: [
    {
      file: 'entropy.c',
      from: 'uint64_t value = sim_entropy_next();',
      to: 'uint64_t value = without("seed") ? of_the_host() : sim_entropy_next();',
    },
  ],
  warp: [
    {
      file: 'plugin.c',
      from: '!redirect(icount_start_warp_timer, start_warp_timer_hook)',
      to: '!(without("warp") || redirect(icount_start_warp_timer, start_warp_timer_hook))',
    },
  ],
  pause: [
    {
      file: 'plugin.c',
      from: '!redirect(helper_pause, pause_hook)',
      to: '!(without("pause") || redirect(helper_pause, pause_hook))',
    },
  ],
  translations: [
    {
      file: 'plugin.c',
      from: '!sim_replace_import("gettimeofday", gettimeofday_hook)',
      to: '!(without("translations") || sim_replace_import("gettimeofday", gettimeofday_hook))',
    },
  ],
  turns: [
    {
      file: 'vcpu.c',
      from: 'if (slice.left > 0 && may_run',
      to: 'if (!without("turns") && slice.left > 0 && may_run',
    },
  ],
  reset: [
    {
      file: 'vcpu.c',
      from: 'if (cpu->interrupt_request & (CPU_INTERRUPT_INIT',
      to: 'if ((without("reset") ? 0 : cpu->interrupt_request) & (CPU_INTERRUPT_INIT',
    },
  ],
  requests: [
    {
      file: 'vcpu.c',
      from: 'return qemu_shutdown_requested_get() || qemu_reset_requested_get();',
      to: 'return !without("requests") && (qemu_shutdown_requested_get() || qemu_reset_requested_get());',
    },
  ],
  'saved seed': [
    {
      file: 'entropy.c',
      from: '    vmstate_register_any(NULL, &vmstate_entropy',
      to: '    if (!without("saved seed")) vmstate_register_any(NULL, &vmstate_entropy',
    },
  ],
  'saved turn': [
    {
      file: 'vcpu.c',
      from: '    vmstate_register_any(NULL, &vmstate_vcpu',
      to: '    if (!without("saved turn")) vmstate_register_any(NULL, &vmstate_vcpu',
    },
  ],
  // As in QEMU's own loop: how far it runs at once is the host's, and a turn ends with it.
  deadlines: [
    {
      file: 'vcpu.c',
      from: '    int64_t budget = icount_round(MIN(delta_ns, INT32_MAX));\n',
      to: `    int64_t budget = icount_round(MIN(delta_ns, INT32_MAX));

    if (without("deadlines") || without("budgets")) {
        budget = MIN(budget, 1 + (int64_t)(of_the_host() % 20000));
    }
`,
    },
    {
      file: 'vcpu.c',
      from: 'slice.left = ran >= slice.left ?',
      to: 'slice.left = without("deadlines") || ran >= slice.left ?',
    },
  ],
  // The first half of it: turns stay.
  budgets: [],
  // As in QEMU's own loop: deferred work is the main thread's, which runs beside the guest, a little
  // later than the guest asked for it.
  gate: [
    {
      file: 'gate.c',
      from: '    qemu_mutex_lock_impl(lock, file, line);\n',
      to: `    if (without("gate") && !is_loop_thread) {
        g_usleep(200);
    }
    qemu_mutex_lock_impl(lock, file, line);
`,
    },
    {
      file: 'gate.c',
      from: '    gate.closed = true;',
      to: '    gate.closed = !(without("gate") || without("late") || without("stale"));',
    },
    {
      file: 'vcpu.c',
      from: '    if (aio_bh_poll(',
      to: '    if (!without("gate") && aio_bh_poll(',
    },
  ],
  // The main thread always comes first, at the instruction that asked for it: it has the time.
  late: [
    {
      file: 'vcpu.c',
      from: '        icount_update(current_cpu);\n',
      to: `        if (!without("stale")) {
            icount_update(current_cpu);
        }
        was_kicked = true;
`,
    },
    {
      file: 'vcpu.c',
      from: '    result = tcg_cpu_exec(cpu);\n',
      to: `    result = tcg_cpu_exec(cpu);
    if (was_kicked && (without("late") || without("stale")) &&
        icount_get() > ${SLOW_FROM_NS}) {
        g_usleep(500);
    }
    was_kicked = false;
`,
    },
    {
      file: 'vcpu.c',
      from: 'int64_t sim_now(void)\n',
      to: 'static bool was_kicked;\n\nint64_t sim_now(void)\n',
    },
  ],
  // And then it reads the time before the last instructions.
  stale: [],
} as const satisfies Record<string, readonly Alteration[]>;

export type Measure = keyof typeof ALTERATIONS;

/** The plugin whose measures can be left out, compiled into `folder`. */
export class AlteredPlugin {
  private readonly folder: string;
  private readonly stock: MachineBackend;

  private constructor(folder: string, stock: MachineBackend) {
    this.folder = folder;
    this.stock = stock;
  }

  static async build(folder: string): Promise<AlteredPlugin> {
    const stock = await testBackend();
    const say = (): void => undefined;
    const source = await fetchQemuSource(machineCache, say);
    const headers = await qemuHeaders(source, machineCache, say);
    const [sources = '', ...rest] = adapterFolders('plugin');
    const altered = join(folder, 'altered');
    cpSync(sources, altered, { recursive: true });
    for (const { file, from, to } of Object.values(ALTERATIONS).flat()) {
      replace(altered, file, from, to);
    }
    const header = join(altered, 'sim.h');
    writeFileSync(header, readFileSync(header, 'utf8').replace(/#endif\s*$/, `${ASK}\n#endif\n`));
    mkdirSync(join(folder, 'plugin'));
    await compilePlugin({ folders: [altered, ...rest], headers, source }, join(folder, 'plugin'));
    return new AlteredPlugin(folder, stock);
  }

  /** A backend without one measure. */
  without(measure: Measure): MachineBackend {
    const binary = join(this.folder, `qemu-without-${measure.replaceAll(' ', '-')}`);
    writeFileSync(
      binary,
      `#!/bin/sh\nexport ALTERED='${measure}'\nexec ${this.stock.binary} "$@"\n`,
    );
    chmodSync(binary, 0o755);
    return { ...this.stock, binary, plugin: join(this.folder, 'plugin', 'sim.so') };
  }
}

function replace(folder: string, file: string, from: string, to: string): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} has not once: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

import { tmpdir } from 'node:os';

/** A way to run the same simulation on a host that differs. */
export interface HostileHost {
  readonly name: string;
  /** Options of the runtime itself. */
  readonly nodeOptions: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Processes that keep the processor busy meanwhile. */
  readonly loadCount: number;
  /** Another runtime's binary, or null for the present one. */
  readonly binary: string | null;
}

const PLAIN: Omit<HostileHost, 'name' | 'cwd'> = {
  nodeOptions: [],
  env: {},
  loadCount: 0,
  binary: null,
};

/** The matrix of hosts (CR-14, determinism ladder step 4), the plainest first. */
export function hostileHosts(cwd: string): readonly HostileHost[] {
  const elsewhere = tmpdir();
  return [
    { ...PLAIN, name: 'this host as it is', cwd },
    {
      ...PLAIN,
      name: 'another time zone, locale and folder; a small heap; one thread',
      cwd: elsewhere,
      env: {
        TZ: 'Pacific/Chatham',
        LANG: 'tr_TR.UTF-8',
        LC_ALL: 'tr_TR.UTF-8',
        UV_THREADPOOL_SIZE: '1',
      },
      nodeOptions: ['--max-old-space-size=512', '--single-threaded'],
    },
    {
      ...PLAIN,
      name: 'the baseline WebAssembly compiler alone',
      cwd,
      nodeOptions: ['--liftoff-only'],
    },
    {
      ...PLAIN,
      name: 'the optimising WebAssembly compiler alone',
      cwd,
      nodeOptions: ['--no-liftoff'],
    },
    {
      ...PLAIN,
      name: 'a small native stack and many threads',
      cwd,
      env: { UV_THREADPOOL_SIZE: '64' },
      nodeOptions: ['--stack-size=800'],
    },
    {
      ...PLAIN,
      name: 'a busy processor',
      cwd,
      env: { TZ: 'America/St_Johns', LANG: 'ar_EG.UTF-8' },
      loadCount: 2,
    },
    {
      ...PLAIN,
      name: 'frequent garbage collection, hashes seeded otherwise',
      cwd: elsewhere,
      nodeOptions: ['--gc-interval=5000', '--hash-seed=12345', '--max-semi-space-size=1'],
    },
  ];
}

/** The same run on another runtime. */
export function otherRuntime(binary: string, cwd: string): HostileHost {
  return { ...PLAIN, name: `the runtime ${binary}`, cwd, binary };
}

import { COST_NS } from '../../preview1/costs.ts';
import { own } from '../abi/handles.ts';
import { U8 } from '../abi/primitives.ts';
import { tuple } from '../abi/products.ts';
import { STRING, list } from '../abi/sequences.ts';
import { option, result } from '../abi/sums.ts';
import { resourceRow, row, voidRow, type HostInterface } from '../host-table.ts';
import { INPUT_STREAM, OUTPUT_STREAM, TERMINAL_INPUT, TERMINAL_OUTPUT } from './resources.ts';
import type { InputStream, OutputStream } from './resources.ts';

export const ENVIRONMENT: HostInterface = {
  name: 'wasi:cli/environment',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('get-environment', {
      params: [],
      result: list(tuple(STRING, STRING)),
      run: (host) => host.port.env,
    }),
    row('get-arguments', {
      params: [],
      result: list(STRING),
      run: (host) => host.port.args,
    }),
    row('initial-cwd', { params: [], result: option(STRING), run: () => '/' }),
  ],
};

export const EXIT: HostInterface = {
  name: 'wasi:cli/exit',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    voidRow('exit', {
      params: [result(null, null)],
      run: (host, status) => host.context.exit(status.ok ? 0 : 1),
    }),
    voidRow('exit-with-code', {
      params: [U8],
      run: (host, code) => host.context.exit(code),
    }),
  ],
};

export const STDIN: HostInterface = {
  name: 'wasi:cli/stdin',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('get-stdin', {
      params: [],
      result: own(INPUT_STREAM),
      run: (): InputStream => ({ from: 'nothing', closed: false }),
    }),
  ],
};

function consoleStream(descriptor: 1 | 2): OutputStream {
  return { to: 'console', descriptor, closed: false, permit: 0, progress: 0 };
}

export const STDOUT: HostInterface = {
  name: 'wasi:cli/stdout',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('get-stdout', {
      params: [],
      result: own(OUTPUT_STREAM),
      run: () => consoleStream(1),
    }),
  ],
};

export const STDERR: HostInterface = {
  name: 'wasi:cli/stderr',
  costNs: COST_NS.clock,
  resources: [],
  functions: [
    row('get-stderr', {
      params: [],
      result: own(OUTPUT_STREAM),
      run: () => consoleStream(2),
    }),
  ],
};

/** A node's console is no terminal: programs then write plainly and in whole blocks. */
export const TERMINALS: readonly HostInterface[] = [
  {
    name: 'wasi:cli/terminal-input',
    costNs: COST_NS.clock,
    resources: [resourceRow(TERMINAL_INPUT)],
    functions: [],
  },
  {
    name: 'wasi:cli/terminal-output',
    costNs: COST_NS.clock,
    resources: [resourceRow(TERMINAL_OUTPUT)],
    functions: [],
  },
  {
    name: 'wasi:cli/terminal-stdin',
    costNs: COST_NS.clock,
    resources: [],
    functions: [
      row('get-terminal-stdin', {
        params: [],
        result: option(own(TERMINAL_INPUT)),
        run: () => null,
      }),
    ],
  },
  ...['stdout', 'stderr'].map((name) => ({
    name: `wasi:cli/terminal-${name}`,
    costNs: COST_NS.clock,
    resources: [],
    functions: [
      row(`get-terminal-${name}`, {
        params: [],
        result: option(own(TERMINAL_OUTPUT)),
        run: () => null,
      }),
    ],
  })),
];

import { COST_NS } from '../../preview1/costs.ts';
import { U64 } from '../abi/primitives.ts';
import { tuple } from '../abi/products.ts';
import { BYTES } from '../abi/sequences.ts';
import { row, type HostInterface } from '../host-table.ts';
import type { WasiHost } from './wasi-host.ts';

/** What a call asks for must fit into the guest's own memory. */
function randomBytes(host: WasiHost, length: bigint): Uint8Array {
  if (length > BigInt(host.context.memoryBytes())) {
    host.trap(`${length} random bytes do not fit into the memory`);
  }
  const bytes = new Uint8Array(Number(length));
  if (bytes.length > 0) host.port.entropy(bytes);
  return bytes;
}

function randomU64(host: WasiHost): bigint {
  const bytes = randomBytes(host, 8n);
  return new DataView(bytes.buffer).getBigUint64(0, true);
}

export const RANDOM: HostInterface = {
  name: 'wasi:random/random',
  costNs: COST_NS.descriptor,
  resources: [],
  functions: [
    row('get-random-bytes', { params: [U64], result: BYTES, run: randomBytes }),
    row('get-random-u64', { params: [], result: U64, run: randomU64 }),
  ],
};

/** The same entropy: a decision each, as all that could have been otherwise is. */
export const INSECURE: HostInterface = {
  name: 'wasi:random/insecure',
  costNs: COST_NS.descriptor,
  resources: [],
  functions: [
    row('get-insecure-random-bytes', { params: [U64], result: BYTES, run: randomBytes }),
    row('get-insecure-random-u64', { params: [], result: U64, run: randomU64 }),
  ],
};

export const INSECURE_SEED: HostInterface = {
  name: 'wasi:random/insecure-seed',
  costNs: COST_NS.descriptor,
  resources: [],
  functions: [
    row('insecure-seed', {
      params: [],
      result: tuple(U64, U64),
      run: (host) => [randomU64(host), randomU64(host)] as const,
    }),
  ],
};

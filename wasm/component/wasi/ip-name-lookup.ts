import { COST_NS } from '../../preview1/costs.ts';
import { borrow, own } from '../abi/handles.ts';
import { STRING } from '../abi/sequences.ts';
import { option, result, success } from '../abi/sums.ts';
import { resourceRow, row, type HostInterface } from '../host-table.ts';
import { NETWORK_ERROR } from './error-codes.ts';
import { IP_ADDRESS, ipAddress, refused, type IpAddress, type Outcome } from './network.ts';
import { NETWORK, POLLABLE, RESOLVE_ADDRESS_STREAM } from './resources.ts';
import type { Pollable, ResolveAddressStream } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

/** RFC 1035: a name has at most 253 characters, letters, digits, hyphens and dots. */
const NAME =
  /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
const DOTTED = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** The number of an IPv4 address in dotted form, or null. */
function parseDotted(name: string): number | null {
  const parts = DOTTED.exec(name)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return parts.reduce((number, part) => number * 256 + part, 0);
}

function resolve(host: WasiHost, name: string): Outcome<ResolveAddressStream> {
  const dotted = parseDotted(name);
  if (dotted !== null) return success({ addresses: [dotted], next: 0 });
  if (!NAME.test(name)) return refused('invalid-argument');
  return success({ addresses: host.sockets.resolve(name), next: 0 });
}

function nextAddress(stream: ResolveAddressStream): Outcome<IpAddress | null> {
  if (stream.addresses.length === 0) return refused('name-unresolvable');
  if (stream.next === stream.addresses.length) return success(null);
  return success(ipAddress(stream.addresses[stream.next++]));
}

export const IP_NAME_LOOKUP: HostInterface = {
  name: 'wasi:sockets/ip-name-lookup',
  costNs: COST_NS.file,
  resources: [resourceRow(RESOLVE_ADDRESS_STREAM)],
  functions: [
    row('resolve-addresses', {
      params: [borrow(NETWORK), STRING],
      result: result(own(RESOLVE_ADDRESS_STREAM), NETWORK_ERROR),
      run: (host, _, name) => resolve(host, name),
    }),
    row('[method]resolve-address-stream.resolve-next-address', {
      params: [borrow(RESOLVE_ADDRESS_STREAM)],
      result: result(option(IP_ADDRESS), NETWORK_ERROR),
      run: (_, stream) => nextAddress(stream),
    }),
    row('[method]resolve-address-stream.subscribe', {
      params: [borrow(RESOLVE_ADDRESS_STREAM)],
      result: own(POLLABLE),
      run: (): Pollable => ({ on: 'always' }),
    }),
  ],
};

import { COST_NS } from '../../preview1/costs.ts';
import { borrow, own } from '../abi/handles.ts';
import { U16, U32, U8 } from '../abi/primitives.ts';
import { record, tuple } from '../abi/products.ts';
import {
  enumeration,
  failure,
  option,
  result,
  success,
  variant,
  type Result,
} from '../abi/sums.ts';
import type { ValueOf } from '../abi/type.ts';
import { resourceRow, row, type HostInterface } from '../host-table.ts';
import { NETWORK_ERROR, networkError, type NetworkError } from './error-codes.ts';
import { IO_ERROR, NETWORK } from './resources.ts';

export const ADDRESS_FAMILY = enumeration(['ipv4', 'ipv6']);
export const IPV4_ADDRESS = tuple(U8, U8, U8, U8);
export const IPV6_ADDRESS = tuple(U16, U16, U16, U16, U16, U16, U16, U16);
export const IP_ADDRESS = variant({ ipv4: IPV4_ADDRESS, ipv6: IPV6_ADDRESS });
export type IpAddress = ValueOf<typeof IP_ADDRESS>;

export const SOCKET_ADDRESS = variant({
  ipv4: record({ port: U16, address: IPV4_ADDRESS }),
  ipv6: record({ port: U16, 'flow-info': U32, address: IPV6_ADDRESS, 'scope-id': U32 }),
});
export type SocketAddress = ValueOf<typeof SOCKET_ADDRESS>;

export type Outcome<T> = Result<T, NetworkError>;

export function refused(code: NetworkError): Result<never, NetworkError> {
  return failure(code);
}

/** The outcome of a call of the node's stack that gives 0 or more, or a negated errno. */
export function outcomeOf(status: number): Outcome<undefined> {
  return status < 0 ? refused(networkError(status)) : success(undefined);
}

/** The address as the node's stack has it: an unsigned 32-bit number. */
export function addressNumber(address: ValueOf<typeof IPV4_ADDRESS>): number {
  const [first, second, third, fourth] = address;
  return ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0;
}

export function ipAddress(address: number): IpAddress {
  const value = [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255];
  return { tag: 'ipv4', value: value as [number, number, number, number] };
}

export function socketAddress(end: {
  readonly address: number;
  readonly port: number;
}): SocketAddress {
  const address = ipAddress(end.address).value as ValueOf<typeof IPV4_ADDRESS>;
  return { tag: 'ipv4', value: { port: end.port, address } };
}

/** An address that the node's stack can take; only IPv4 exists in the simulated network. */
export function endpoint(address: SocketAddress): { address: number; port: number } | null {
  if (address.tag === 'ipv6') return null;
  return { address: addressNumber(address.value.address), port: address.value.port };
}

/** An address that one can connect or send to: unicast, not the unspecified one, with a port. */
export function remoteEndpoint(address: SocketAddress): { address: number; port: number } | null {
  const end = endpoint(address);
  return end === null || end.port === 0 || end.address === 0 || !isUnicast(end.address)
    ? null
    : end;
}

/** Not multicast (224.0.0.0/4) and not the limited broadcast address. */
export function isUnicast(address: number): boolean {
  return address < 0xe000_0000 || (address > 0xefff_ffff && address !== 0xffff_ffff);
}

export const NETWORK_INTERFACE: HostInterface = {
  name: 'wasi:sockets/network',
  costNs: COST_NS.descriptor,
  resources: [resourceRow(NETWORK)],
  functions: [
    row('network-error-code', {
      params: [borrow(IO_ERROR)],
      result: option(NETWORK_ERROR),
      run: (_, error) => (error.domain === 'network' ? networkError(error.errno) : null),
    }),
  ],
};

export const INSTANCE_NETWORK: HostInterface = {
  name: 'wasi:sockets/instance-network',
  costNs: COST_NS.descriptor,
  resources: [],
  functions: [
    row('instance-network', {
      params: [],
      result: own(NETWORK),
      run: () => ({ network: 'node' }) as const,
    }),
  ],
};

export const ADDRESS_RESULT = result(SOCKET_ADDRESS, NETWORK_ERROR);
export const UNIT_RESULT = result(null, NETWORK_ERROR);

import { COST_NS } from '../../preview1/costs.ts';
import { BLOCKED, type Blocked } from '../abi/function.ts';
import { borrow, own } from '../abi/handles.ts';
import { BOOL, U32, U64 } from '../abi/primitives.ts';
import { BYTES, STRING, list } from '../abi/sequences.ts';
import { result, variant } from '../abi/sums.ts';
import { errnoName } from '../../../sim/index.ts';
import {
  blockingRow,
  blockingVoidRow,
  resourceRow,
  row,
  type HostInterface,
} from '../host-table.ts';
import { blockingRead, countOf, inputPollable, read } from './input-stream.ts';
import * as output from './output-stream.ts';
import { INPUT_STREAM, IO_ERROR, OUTPUT_STREAM, POLLABLE, type InputStream } from './resources.ts';
import type { WasiHost } from './wasi-host.ts';

export const STREAM_ERROR = variant({ 'last-operation-failed': own(IO_ERROR), closed: null });

const SELF_INPUT = borrow(INPUT_STREAM);
const SELF_OUTPUT = borrow(OUTPUT_STREAM);
const READ_RESULT = result(BYTES, STREAM_ERROR);
const COUNT_RESULT = result(U64, STREAM_ERROR);
const WRITE_RESULT = result(null, STREAM_ERROR);

export const ERROR: HostInterface = {
  name: 'wasi:io/error',
  costNs: COST_NS.descriptor,
  resources: [resourceRow(IO_ERROR)],
  functions: [
    row('[method]error.to-debug-string', {
      params: [borrow(IO_ERROR)],
      result: STRING,
      run: (_, error) => `${error.domain} error ${errnoName(error.errno)}`,
    }),
  ],
};

export const POLL: HostInterface = {
  name: 'wasi:io/poll',
  costNs: COST_NS.descriptor,
  resources: [resourceRow(POLLABLE)],
  functions: [
    row('[method]pollable.ready', {
      params: [borrow(POLLABLE)],
      result: BOOL,
      run: (host, pollable) => host.isReady(pollable),
    }),
    blockingVoidRow('[method]pollable.block', {
      params: [borrow(POLLABLE)],
      run: (host, pollable) => {
        return host.isReady(pollable) ? undefined : host.waitFor([pollable]);
      },
    }),
    blockingRow('poll', {
      params: [list(borrow(POLLABLE))],
      result: list(U32),
      run: (host, pollables): readonly number[] | Blocked => {
        if (pollables.length === 0) host.trap('a poll of nothing');
        const ready = pollables.flatMap((one, index) => (host.isReady(one) ? [index] : []));
        return ready.length > 0 ? ready : host.waitFor(pollables);
      },
    }),
  ],
};

export const STREAMS: HostInterface = {
  name: 'wasi:io/streams',
  costNs: COST_NS.file,
  resources: [resourceRow(INPUT_STREAM, dropInput), resourceRow(OUTPUT_STREAM, output.dropOutput)],
  functions: [
    row('[method]input-stream.read', {
      params: [SELF_INPUT, U64],
      result: READ_RESULT,
      run: read,
    }),
    blockingRow('[method]input-stream.blocking-read', {
      params: [SELF_INPUT, U64],
      result: READ_RESULT,
      run: blockingRead,
    }),
    row('[method]input-stream.skip', {
      params: [SELF_INPUT, U64],
      result: COUNT_RESULT,
      run: (host, stream, length) => countOf(read(host, stream, length)),
    }),
    blockingRow('[method]input-stream.blocking-skip', {
      params: [SELF_INPUT, U64],
      result: COUNT_RESULT,
      run: (host, stream, length) => {
        const got = blockingRead(host, stream, length);
        return got === BLOCKED ? BLOCKED : countOf(got);
      },
    }),
    row('[method]input-stream.subscribe', {
      costNs: COST_NS.descriptor,
      params: [SELF_INPUT],
      result: own(POLLABLE),
      run: (_, stream) => inputPollable(stream),
    }),
    row('[method]output-stream.check-write', {
      costNs: COST_NS.descriptor,
      params: [SELF_OUTPUT],
      result: COUNT_RESULT,
      run: output.checkWrite,
    }),
    row('[method]output-stream.write', {
      params: [SELF_OUTPUT, BYTES],
      result: WRITE_RESULT,
      run: output.write,
    }),
    blockingRow('[method]output-stream.blocking-write-and-flush', {
      params: [SELF_OUTPUT, BYTES],
      result: WRITE_RESULT,
      run: output.blockingWrite,
    }),
    row('[method]output-stream.flush', {
      costNs: COST_NS.descriptor,
      params: [SELF_OUTPUT],
      result: WRITE_RESULT,
      run: (_, stream) => output.flush(stream),
    }),
    row('[method]output-stream.blocking-flush', {
      costNs: COST_NS.descriptor,
      params: [SELF_OUTPUT],
      result: WRITE_RESULT,
      run: (_, stream) => output.flush(stream),
    }),
    row('[method]output-stream.subscribe', {
      costNs: COST_NS.descriptor,
      params: [SELF_OUTPUT],
      result: own(POLLABLE),
      run: (_, stream) => output.outputPollable(stream),
    }),
    row('[method]output-stream.write-zeroes', {
      params: [SELF_OUTPUT, U64],
      result: WRITE_RESULT,
      run: (host, stream, length) => output.write(host, stream, zeroes(host, length)),
    }),
    blockingRow('[method]output-stream.blocking-write-zeroes-and-flush', {
      params: [SELF_OUTPUT, U64],
      result: WRITE_RESULT,
      run: (host, stream, length) => output.blockingWrite(host, stream, zeroes(host, length)),
    }),
    row('[method]output-stream.splice', {
      params: [SELF_OUTPUT, SELF_INPUT, U64],
      result: COUNT_RESULT,
      run: output.splice,
    }),
    blockingRow('[method]output-stream.blocking-splice', {
      params: [SELF_OUTPUT, SELF_INPUT, U64],
      result: COUNT_RESULT,
      run: output.blockingSplice,
    }),
  ],
};

/** More than any permit would be a misuse anyway, so this only bounds what the host allocates. */
function zeroes(host: WasiHost, length: bigint): Uint8Array {
  if (length > 2n ** 24n) host.trap(`a write of ${length} zeroes`);
  return new Uint8Array(Number(length));
}

function dropInput(host: WasiHost, stream: InputStream): void {
  if (stream.from === 'file') host.files.release(stream.inode);
  if (stream.from === 'socket') host.releaseSocket(stream.socket);
}

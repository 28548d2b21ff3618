import {
  Directory,
  File,
  OpenFile,
  PreopenDirectory,
  WASI,
  wasi,
  Fd,
} from '@bjorn3/browser_wasi_shim';

/** What a guest did on the reference host. */
export interface ReferenceRun {
  readonly exitCode: number;
  readonly output: string;
}

class Sink extends Fd {
  text = '';
  readonly #decoder = new TextDecoder();

  override fd_write(data: Uint8Array): { ret: number; nwritten: number } {
    this.text += this.#decoder.decode(data, { stream: true });
    return { ret: wasi.ERRNO_SUCCESS, nwritten: data.byteLength };
  }

  override fd_fdstat_get(): { ret: number; fdstat: wasi.Fdstat } {
    return { ret: wasi.ERRNO_SUCCESS, fdstat: new wasi.Fdstat(wasi.FILETYPE_CHARACTER_DEVICE, 0) };
  }
}

/**
 * Runs a preview 1 command on an independent host, the one that this project compares itself with.
 * `root` is the folder that the guest sees as `/`, and keeps what it writes.
 */
export function runOnReference(
  module: Uint8Array<ArrayBuffer>,
  args: readonly string[],
  root: Directory = new Directory(new Map()),
): ReferenceRun {
  const output = new Sink();
  const preopen = new PreopenDirectory('/', root.contents);
  const host = new WASI(
    ['guest', ...args],
    [],
    [new OpenFile(new File([])), output, output, preopen],
    { debug: false },
  );
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module), {
    wasi_snapshot_preview1: host.wasiImport,
  });
  const exitCode = host.start(
    instance as { exports: { memory: WebAssembly.Memory; _start: () => unknown } },
  );
  return { exitCode, output: output.text };
}

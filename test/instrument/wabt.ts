import loadWabt from 'wabt';

const FEATURES = {
  exceptions: true,
  mutable_globals: true,
  sat_float_to_int: true,
  sign_extension: true,
  simd: true,
  multi_value: true,
  tail_call: true,
  bulk_memory: true,
  reference_types: true,
  extended_const: true,
};

/** The text-format tools that tests use. */
export interface Wabt {
  /** The binary of a module in the text format; it is not validated. Throws on bad syntax. */
  assemble(wat: string): Uint8Array;
  /** The text of a binary module. */
  disassemble(binary: Uint8Array): string;
}

/** Loads the assembler (an asynchronous WebAssembly module of its own). */
export async function openWabt(): Promise<Wabt> {
  const wabt = await loadWabt();
  return {
    assemble: (wat) => {
      const module = wabt.parseWat('module.wat', wat, FEATURES);
      try {
        return module.toBinary({ write_debug_names: false }).buffer;
      } finally {
        module.destroy();
      }
    },
    disassemble: (binary) => {
      const module = wabt.readWasm(binary, { ...FEATURES, readDebugNames: false });
      try {
        return module.toText({ foldExprs: false, inlineExport: false });
      } finally {
        module.destroy();
      }
    },
  };
}

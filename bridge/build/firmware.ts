/** A firmware fills the last 64 KiB below 4 GiB. */
const FIRMWARE_BYTES = 65_536;
/** The CPU's first instruction is 16 bytes before the end of the firmware. */
const RESET_OFFSET = FIRMWARE_BYTES - 16;

/** A firmware that runs `program`, 16-bit code for offset 0 of its segment, in real mode. */
export function firmwareWith(program: readonly number[]): Buffer {
  const code = Buffer.alloc(FIRMWARE_BYTES, 0xf4); // hlt
  Buffer.from(program).copy(code, 0);
  // jmp near to offset 0 of the segment, which the firmware fills: the displacement wraps around.
  code[RESET_OFFSET] = 0xe9;
  code.writeUInt16LE((FIRMWARE_BYTES - (RESET_OFFSET + 3)) & 0xffff, RESET_OFFSET + 1);
  return code;
}

import { MODE, type DataSegment, type Range } from '../binary/index.ts';

/** V8's limit of data segments (src/wasm/wasm-limits.h, kV8MaxWasmDataSegments). */
export const DATA_SEGMENTS_MAX = 100_000;

/** Zeros that may be written between two segments that are joined. */
const GAP_BYTES_MAX = 4096;

/** A data segment as it is written: its pieces follow each other, with zeros in the gaps. */
export interface WrittenData {
  readonly segment: DataSegment;
  readonly pieces: readonly { readonly content: Range; readonly gapBytes: number }[];
}

/**
 * The module's data segments, with so many neighbours joined that `added` more fit below the
 * limit. Go's linker fills the limit exactly. Only active segments at ascending constant addresses
 * are joined: in between memory is still zero, and no instruction names a segment.
 */
export function joinData(data: readonly DataSegment[], added: number): readonly WrittenData[] {
  let excess = data.length + added - DATA_SEGMENTS_MAX;
  if (excess <= 0 || !isAscending(data)) {
    return data.map((segment) => ({
      segment,
      pieces: [{ content: segment.content, gapBytes: 0 }],
    }));
  }
  const written: WrittenData[] = [];
  for (let index = 0; index < data.length; index++) {
    const segment = data[index] as DataSegment;
    const next = data[index + 1];
    const first = { content: segment.content, gapBytes: 0 };
    const gapBytes = next === undefined ? -1 : address(next) - endOf(segment);
    if (excess > 0 && next !== undefined && gapBytes >= 0 && gapBytes <= GAP_BYTES_MAX) {
      written.push({ segment, pieces: [first, { content: next.content, gapBytes }] });
      excess--;
      index++;
    } else {
      written.push({ segment, pieces: [first] });
    }
  }
  return written;
}

function isAscending(data: readonly DataSegment[]): boolean {
  return data.every((segment, index) => {
    if (segment.mode !== MODE.active || segment.offset?.extended === true) return false;
    const before = data[index - 1];
    return before === undefined || endOf(before) <= address(segment);
  });
}

function address(segment: DataSegment): number {
  return (segment.offset?.instructions[0]?.a ?? 0) >>> 0;
}

function endOf(segment: DataSegment): number {
  return address(segment) + segment.content.end - segment.content.start;
}

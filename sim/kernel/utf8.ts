/** UTF-8 (RFC 3629) without host globals. Lone surrogates and malformed bytes become U+FFFD. */

export function encodeUtf8(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    let point = text.codePointAt(index) as number;
    if (point > 0xffff) index++;
    else if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    if (point < 0x80) {
      bytes[length++] = point;
    } else if (point < 0x800) {
      bytes[length++] = 0xc0 | (point >> 6);
      bytes[length++] = 0x80 | (point & 63);
    } else if (point < 0x10000) {
      bytes[length++] = 0xe0 | (point >> 12);
      bytes[length++] = 0x80 | ((point >> 6) & 63);
      bytes[length++] = 0x80 | (point & 63);
    } else {
      bytes[length++] = 0xf0 | (point >> 18);
      bytes[length++] = 0x80 | ((point >> 12) & 63);
      bytes[length++] = 0x80 | ((point >> 6) & 63);
      bytes[length++] = 0x80 | (point & 63);
    }
  }
  return bytes.slice(0, length);
}

const REPLACEMENT = '\ufffd';

/** Length of the sequence that starts with `lead`, or 0 when no sequence does. */
function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

const LEAST_POINT = [0, 0, 0x80, 0x800, 0x10000];

export function decodeUtf8(bytes: Uint8Array, from = 0, to = bytes.length): string {
  const parts: string[] = [];
  let part = '';
  for (let index = from; index < to;) {
    const lead = bytes[index] as number;
    const length = sequenceLength(lead);
    let point = length === 1 ? lead : lead & (0x7f >> length);
    let used = 1;
    while (
      used < length &&
      index + used < to &&
      ((bytes[index + used] as number) & 0xc0) === 0x80
    ) {
      point = (point << 6) | ((bytes[index + used] as number) & 63);
      used++;
    }
    const whole = length > 0 && used === length && point >= (LEAST_POINT[length] as number);
    const valid = whole && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    part += valid ? String.fromCodePoint(point) : REPLACEMENT;
    index += used;
    if (part.length > 4096) {
      parts.push(part);
      part = '';
    }
  }
  return parts.join('') + part;
}

/** Whether the bytes are valid UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  const text = decodeUtf8(bytes);
  if (!text.includes(REPLACEMENT)) return true;
  const again = encodeUtf8(text);
  return again.length === bytes.length && again.every((byte, index) => byte === bytes[index]);
}

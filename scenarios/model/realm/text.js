// Texts and bytes: what bodies show, compare, send and write.
() => {
  const { stringify } = JSON;

  function show(value) {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (typeof value === 'object' && value !== null) {
      try {
        return stringify(value, (_key, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner));
      } catch {
        return '[object]';
      }
    }
    return String(value);
  }

  const equal = (a, b) => Object.is(a, b) || canonical(a) === canonical(b);
  function canonical(value) {
    return stringify(value, (_key, inner) => {
      if (typeof inner === 'bigint') return `${inner}n`;
      if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
      if (inner instanceof Map) return { Map: [...inner] };
      if (inner instanceof Set) return { Set: [...inner] };
      if (inner instanceof Error) return show(inner);
      return Object.fromEntries(
        Object.keys(inner)
          .sort()
          .map((key) => [key, inner[key]]),
      );
    });
  }

  const unescape8 = (text) =>
    text.replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  const utf8 = (text) => unescape8(encodeURIComponent(text));
  /** Bytes as a text of a letter each; a text as its UTF-8. */
  const latin1 = (data) => {
    if (typeof data === 'string') return utf8(data);
    let text = '';
    for (const byte of data) text += String.fromCharCode(byte);
    return text;
  };
  const bytesOf = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const textOf = (binary) => {
    const escaped = binary.replace(
      /[^]/g,
      (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
    try {
      return decodeURIComponent(escaped);
    } catch {
      return binary;
    }
  };

  return { show, equal, utf8, latin1, bytesOf, textOf };
};

/** Lays out rows in columns as wide as their widest cell; columns in `right` end flush. */
export function layOut(
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, visibleLength(cell));
    });
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const padding = ' '.repeat((widths[column] ?? 0) - visibleLength(cell));
      return right.has(column) ? padding + cell : cell + padding;
    });
    return cells.join('  ').trimEnd();
  });
}

/** A length without the escape sequences of colours. */
export function visibleLength(text: string): number {
  return text.replaceAll(COLOR, '').length;
}

const COLOR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** 1234567 becomes `1,234,567`. */
export function groupDigits(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

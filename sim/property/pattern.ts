/** A console pattern: literal text in which each `*` takes a run of characters but no space. */
export interface Pattern {
  readonly text: string;
  readonly expression: RegExp;
}

export function compilePattern(text: string): Pattern {
  const parts = text.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return { text, expression: new RegExp(parts.join('([^ ]*)'), 'u') };
}

/** The texts that the stars take in the first match within `line`, or null without a match. */
export function matchPattern(pattern: Pattern, line: string): readonly string[] | null {
  const match = pattern.expression.exec(line);
  return match === null ? null : match.slice(1);
}

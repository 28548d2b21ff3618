import ts from 'typescript';

/** What a declaration made: other declarations refer to it. */
export type DeclaredKind = 'service' | 'assumption' | 'scenario';

/** The value of an expression as far as it can be told without running anything. */
export type Static =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'list'; readonly items: readonly Static[] }
  | { readonly kind: 'table'; readonly entries: ReadonlyMap<string, Static> }
  | { readonly kind: 'declared'; readonly declared: DeclaredKind; readonly name: string }
  | { readonly kind: 'function'; readonly node: ts.SignatureDeclaration }
  /** It takes running to know; `text` is how it is written. */
  | { readonly kind: 'computed'; readonly text: string };

/** Looks names up: what `const`, `import`, function or loop variable stands behind one. */
export interface Names {
  /** The file that the expressions stand in. */
  readonly source: ts.SourceFile;
  lookUp(name: string): Static | undefined;
}

/** At most so many items of a list are looked at: an axis of more is no plan that anybody runs. */
const LIST_ITEMS_MAX = 1_000_000;

/**
 * The static value of an expression: literals, lists, tables, spreads, templates, `as` and
 * `satisfies`, arithmetic on numbers, joined texts, and names of constants.
 */
export function evaluate(expression: ts.Expression, names: Names): Static {
  const node = unwrap(expression);
  if (ts.isStringLiteralLike(node)) return { kind: 'value', value: node.text };
  if (ts.isNumericLiteral(node)) return { kind: 'value', value: Number(node.text) };
  switch (node.kind) {
    case ts.SyntaxKind.TrueKeyword:
      return { kind: 'value', value: true };
    case ts.SyntaxKind.FalseKeyword:
      return { kind: 'value', value: false };
    case ts.SyntaxKind.NullKeyword:
      return { kind: 'value', value: null };
  }
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return { kind: 'function', node };
  if (ts.isIdentifier(node)) return names.lookUp(node.text) ?? computed(node, names);
  if (ts.isArrayLiteralExpression(node)) return list(node, names);
  if (ts.isObjectLiteralExpression(node)) return table(node, names);
  if (ts.isTemplateExpression(node)) return template(node, names);
  if (ts.isPrefixUnaryExpression(node)) return negated(node, names);
  if (ts.isBinaryExpression(node)) return binary(node, names);
  if (ts.isPropertyAccessExpression(node)) return property(node, names);
  return computed(node, names);
}

/** The expression within parentheses and assertions of types. */
export function unwrap(expression: ts.Expression): ts.Expression {
  let node = expression;
  while (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node)
  ) {
    node = node.expression;
  }
  return node;
}

function computed(node: ts.Node, { source }: Names): Static {
  const text = node.getText(source).replace(/\s+/g, ' ');
  return { kind: 'computed', text: text.length > 60 ? `${text.slice(0, 57)}...` : text };
}

function list(node: ts.ArrayLiteralExpression, names: Names): Static {
  const items: Static[] = [];
  for (const element of node.elements) {
    if (!ts.isSpreadElement(element)) items.push(evaluate(element, names));
    else {
      const inner = evaluate(element.expression, names);
      if (inner.kind !== 'list') return computed(node, names);
      for (const item of inner.items) items.push(item);
    }
    if (items.length > LIST_ITEMS_MAX) return computed(node, names);
  }
  return { kind: 'list', items };
}

function table(node: ts.ObjectLiteralExpression, names: Names): Static {
  const entries = new Map<string, Static>();
  for (const member of node.properties) {
    if (ts.isSpreadAssignment(member)) {
      const inner = evaluate(member.expression, names);
      if (inner.kind !== 'table') return computed(node, names);
      for (const [key, value] of inner.entries) entries.set(key, value);
      continue;
    }
    const key = member.name && propertyKey(member.name);
    if (key === null || key === undefined) return computed(node, names);
    if (ts.isPropertyAssignment(member)) entries.set(key, evaluate(member.initializer, names));
    else if (ts.isShorthandPropertyAssignment(member)) {
      entries.set(key, names.lookUp(key) ?? computed(member.name, names));
    } else entries.set(key, { kind: 'function', node: member });
  }
  return { kind: 'table', entries };
}

function propertyKey(name: ts.PropertyName): string | null {
  if (ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)) {
    return name.text;
  }
  return null;
}

function template(node: ts.TemplateExpression, names: Names): Static {
  let text = node.head.text;
  for (const span of node.templateSpans) {
    const value = evaluate(span.expression, names);
    if (value.kind !== 'value') return computed(node, names);
    text += String(value.value) + span.literal.text;
  }
  return { kind: 'value', value: text };
}

function negated(node: ts.PrefixUnaryExpression, names: Names): Static {
  const inner = evaluate(node.operand, names);
  if (inner.kind === 'value' && typeof inner.value === 'number') {
    if (node.operator === ts.SyntaxKind.MinusToken) return { kind: 'value', value: -inner.value };
    if (node.operator === ts.SyntaxKind.PlusToken) return inner;
  }
  return computed(node, names);
}

function binary(node: ts.BinaryExpression, names: Names): Static {
  const left = evaluate(node.left, names);
  const right = evaluate(node.right, names);
  if (left.kind !== 'value' || right.kind !== 'value') return computed(node, names);
  const [a, b] = [left.value, right.value];
  if (typeof a === 'string' && typeof b === 'string') {
    const plus = node.operatorToken.kind === ts.SyntaxKind.PlusToken;
    return plus ? { kind: 'value', value: a + b } : computed(node, names);
  }
  if (typeof a !== 'number' || typeof b !== 'number') return computed(node, names);
  switch (node.operatorToken.kind) {
    case ts.SyntaxKind.PlusToken:
      return { kind: 'value', value: a + b };
    case ts.SyntaxKind.MinusToken:
      return { kind: 'value', value: a - b };
    case ts.SyntaxKind.AsteriskToken:
      return { kind: 'value', value: a * b };
    default:
      return computed(node, names);
  }
}

function property(node: ts.PropertyAccessExpression, names: Names): Static {
  const holder = evaluate(node.expression, names);
  const key = node.name.text;
  if (holder.kind === 'table') return holder.entries.get(key) ?? computed(node, names);
  if (holder.kind === 'list' && key === 'length') {
    return { kind: 'value', value: holder.items.length };
  }
  if (holder.kind === 'declared' && key === 'name') return { kind: 'value', value: holder.name };
  return computed(node, names);
}

/** A value as a plan shows it. */
export function showStatic(value: Static): string {
  switch (value.kind) {
    case 'value':
      return typeof value.value === 'string' ? value.value : String(value.value);
    case 'list':
      return `[${value.items.map(showStatic).join(', ')}]`;
    case 'table':
      return `{${[...value.entries].map(([key, inner]) => `${key}: ${showStatic(inner)}`).join(', ')}}`;
    case 'declared':
      return value.name;
    case 'function':
      return '(function)';
    case 'computed':
      return `(${value.text})`;
  }
}

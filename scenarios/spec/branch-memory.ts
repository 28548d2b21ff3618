import ts from 'typescript';
import { SPEC_MODULE } from './spec-module.ts';
import { unwrap } from './static-value.ts';

/** The option by which the image of a spec tells `parallel` which of its branches share memory. */
export const SHARED_OPTION = 'athanor:shared';

/** What a name stands for. */
type Meaning =
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'constant'; readonly value: ts.Expression; readonly scope: Scope }
  | { readonly kind: 'function'; readonly node: ts.Node; readonly scope: Scope }
  | { readonly kind: 'other' };

/** The names of a block, a function or a file, and those around it. */
interface Scope {
  readonly names: Map<string, Meaning>;
  readonly outer: Scope | null;
}

const OTHER: Meaning = { kind: 'other' };
/** Words that answer something that never changes. */
const HANDLES: readonly string[] = ['service', 'faultAssumption', 'scenario'];

/**
 * Writes into each call of `parallel` with `interleavings: 'dpor'` which of its branches could touch memory that
 * another touches: those that use a variable from outside themselves that is not a constant value, a word, a
 * service, or a function of which the same holds. Two that do not can only meet in the world. Whatever
 * cannot be told from the text counts as shared; so does every branch of a call without this option.
 */
export function markBranchMemory(): ts.TransformerFactory<ts.SourceFile> {
  return (context) => (file) => {
    const visit = (node: ts.Node, scope: Scope): ts.Node => {
      const own = scopeOf(node, scope);
      const seen = ts.visitEachChild(node, (child) => visit(child, own), context);
      if (!ts.isCallExpression(node) || !isParallel(node.expression, own)) return seen;
      const options = node.arguments.at(-1);
      if (options === undefined || !ts.isObjectLiteralExpression(options) || !isReduced(options)) {
        return seen;
      }
      const branches = node.arguments.slice(0, -1);
      if (branches.some((branch) => ts.isSpreadElement(branch))) return seen;
      const shared = branches.flatMap((branch, index) =>
        sharesMemory(branch, own) ? [index] : [],
      );
      return withShared(seen as ts.CallExpression, shared, context.factory);
    };
    return visit(file, { names: new Map(), outer: null }) as ts.SourceFile;
  };
}

function isReduced({ properties }: ts.ObjectLiteralExpression): boolean {
  return properties.some((property) => {
    if (!ts.isPropertyAssignment(property) || !ts.isIdentifier(property.name)) return false;
    const value = unwrap(property.initializer);
    return (
      property.name.text === 'interleavings' && ts.isStringLiteral(value) && value.text === 'dpor'
    );
  });
}

function isParallel(callee: ts.Expression, scope: Scope): boolean {
  if (ts.isIdentifier(callee)) {
    const meaning = lookUp(callee.text, scope);
    return meaning?.kind === 'word' && meaning.word === 'parallel';
  }
  return ts.isPropertyAccessExpression(callee) && callee.name.text === 'parallel';
}

function withShared(
  call: ts.CallExpression,
  shared: readonly number[],
  factory: ts.NodeFactory,
): ts.CallExpression {
  const options = call.arguments.at(-1) as ts.ObjectLiteralExpression;
  const list = factory.createArrayLiteralExpression(
    shared.map((index) => factory.createNumericLiteral(index)),
  );
  const mark = factory.createPropertyAssignment(factory.createStringLiteral(SHARED_OPTION), list);
  const marked = factory.updateObjectLiteralExpression(options, [...options.properties, mark]);
  const args = [...call.arguments.slice(0, -1), marked];
  return factory.updateCallExpression(call, call.expression, call.typeArguments, args);
}

/** Whether a branch could touch memory that others touch. */
function sharesMemory(branch: ts.Expression, scope: Scope): boolean {
  const node = unwrap(branch);
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) {
    return reachesOut(node, scope, new Set());
  }
  const meaning = ts.isIdentifier(node) ? lookUp(node.text, scope) : undefined;
  return meaning?.kind !== 'function' || reachesOut(meaning.node, meaning.scope, new Set());
}

/** Whether a function uses a variable from outside itself that could hold something that changes. */
function reachesOut(root: ts.Node, around: Scope, visited: Set<ts.Node>): boolean {
  if (visited.has(root)) return false;
  visited.add(root);
  // What stands around the function is not its own; scopes made below are.
  const isOwn = (scope: Scope | null, name: string): boolean => {
    for (let at = scope; at !== null && at !== around; at = at.outer) {
      if (at.names.has(name)) return true;
    }
    return false;
  };
  const visit = (node: ts.Node, outer: Scope, callee: boolean): boolean => {
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return false;
    if (node.kind === ts.SyntaxKind.ThisKeyword || node.kind === ts.SyntaxKind.SuperKeyword) {
      return true;
    }
    if (ts.isIdentifier(node)) {
      if (isOwn(outer, node.text)) return false;
      if (node.text === 'arguments') return true;
      return isShared(lookUp(node.text, around), callee, visited);
    }
    const scope = scopeOf(node, outer);
    return references(node).some((child) => {
      return visit(child, scope, ts.isCallExpression(node) && child === node.expression);
    });
  };
  return visit(root, around, false);
}

/** Whether what a name from outside stands for could change, or lead to what does. */
function isShared(meaning: Meaning | undefined, callee: boolean, visited: Set<ts.Node>): boolean {
  // The realm's own globals are frozen, and no other can be made.
  if (meaning === undefined) return false;
  switch (meaning.kind) {
    case 'word':
      return false;
    case 'constant':
      return !isConstant(meaning.value, meaning.scope);
    case 'function':
      return !callee || reachesOut(meaning.node, meaning.scope, visited);
    case 'other':
      return true;
  }
}

/** Whether a value can never change: a text, a number, what `choose` picks of those, a service. */
function isConstant(expression: ts.Expression, scope: Scope): boolean {
  const value = unwrap(expression);
  if (
    ts.isStringLiteralLike(value) ||
    ts.isNumericLiteral(value) ||
    ts.isTemplateExpression(value)
  ) {
    return true;
  }
  if (ts.isPrefixUnaryExpression(value)) return isConstant(value.operand, scope);
  if (value.kind === ts.SyntaxKind.TrueKeyword || value.kind === ts.SyntaxKind.FalseKeyword)
    return true;
  if (!ts.isCallExpression(value) || !ts.isIdentifier(value.expression)) return false;
  const meaning = lookUp(value.expression.text, scope);
  if (meaning?.kind !== 'word') return false;
  if (HANDLES.includes(meaning.word)) return true;
  const options = value.arguments.at(-1);
  return (
    meaning.word === 'choose' &&
    options !== undefined &&
    ts.isArrayLiteralExpression(options) &&
    options.elements.every((element) => isConstant(element, scope))
  );
}

function lookUp(name: string, scope: Scope): Meaning | undefined {
  for (let at: Scope | null = scope; at !== null; at = at.outer) {
    const found = at.names.get(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The children of a node that can hold a reference to a variable: no names of members or declarations. */
function references(node: ts.Node): readonly ts.Node[] {
  const named = node as { readonly name?: ts.Node; readonly propertyName?: ts.Node };
  const isReference = ts.isShorthandPropertyAssignment(node);
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => {
    const isName = child === named.name || child === named.propertyName;
    if (isName && ts.isIdentifier(child) && !isReference) return;
    children.push(child);
  });
  return children;
}

/** The scope within a node: its own where it declares names, else the one around it. */
function scopeOf(node: ts.Node, outer: Scope): Scope {
  const scope: Scope = { names: new Map(), outer };
  const { names } = scope;
  if (ts.isFunctionLike(node)) {
    for (const { name } of node.parameters) addPattern(name, names);
    if (ts.isFunctionExpression(node) && node.name !== undefined) names.set(node.name.text, OTHER);
  }
  if (ts.isFunctionLike(node) || ts.isSourceFile(node)) addHoisted(node, names);
  if (ts.isBlock(node) || ts.isSourceFile(node)) {
    for (const statement of node.statements) addStatement(statement, scope);
  } else if (ts.isCaseBlock(node)) {
    for (const { statements } of node.clauses) {
      for (const statement of statements) addStatement(statement, scope);
    }
  } else if (ts.isForStatement(node) || ts.isForOfStatement(node) || ts.isForInStatement(node)) {
    const { initializer } = node;
    if (initializer !== undefined && ts.isVariableDeclarationList(initializer)) {
      for (const { name } of initializer.declarations) addPattern(name, names);
    }
  } else if (ts.isCatchClause(node) && node.variableDeclaration !== undefined) {
    addPattern(node.variableDeclaration.name, names);
  } else if (ts.isClassExpression(node) && node.name !== undefined)
    names.set(node.name.text, OTHER);
  return names.size === 0 ? outer : scope;
}

/** A `var` belongs to the whole function, however deep it stands. */
function addHoisted(root: ts.Node, names: Scope['names']): void {
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) return;
    if (ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.BlockScoped) === 0) {
      for (const { name } of node.declarations) addPattern(name, names);
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(root, visit);
}

function addStatement(statement: ts.Statement, scope: Scope): void {
  const { names } = scope;
  if (ts.isImportDeclaration(statement)) addImports(statement, names);
  else if (ts.isFunctionDeclaration(statement) && statement.name !== undefined) {
    names.set(statement.name.text, { kind: 'function', node: statement, scope });
  } else if (isOtherDeclaration(statement)) {
    if (statement.name !== undefined) names.set(statement.name.text, OTHER);
  } else if (ts.isVariableStatement(statement)) {
    const { flags, declarations } = statement.declarationList;
    for (const { name, initializer } of declarations) {
      const value = initializer && unwrap(initializer);
      if (!ts.isIdentifier(name) || value === undefined || (flags & ts.NodeFlags.Const) === 0) {
        addPattern(name, names);
      } else if (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) {
        names.set(name.text, { kind: 'function', node: value, scope });
      } else names.set(name.text, { kind: 'constant', value, scope });
    }
  }
}

function isOtherDeclaration(
  statement: ts.Statement,
): statement is ts.Statement & { readonly name?: ts.Identifier | ts.StringLiteral } {
  return (
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    ts.isModuleDeclaration(statement) ||
    ts.isImportEqualsDeclaration(statement)
  );
}

function addImports(
  { moduleSpecifier, importClause }: ts.ImportDeclaration,
  names: Scope['names'],
): void {
  const own = ts.isStringLiteral(moduleSpecifier) && moduleSpecifier.text === SPEC_MODULE;
  if (importClause?.name !== undefined) names.set(importClause.name.text, OTHER);
  const bindings = importClause?.namedBindings;
  if (bindings === undefined) return;
  if (ts.isNamespaceImport(bindings)) {
    names.set(bindings.name.text, own ? { kind: 'word', word: '*' } : OTHER);
    return;
  }
  for (const { name, propertyName } of bindings.elements) {
    const word = (propertyName ?? name).text;
    names.set(name.text, own ? { kind: 'word', word } : OTHER);
  }
}

function addPattern(name: ts.BindingName, names: Scope['names']): void {
  if (ts.isIdentifier(name)) {
    names.set(name.text, OTHER);
    return;
  }
  for (const element of name.elements) {
    if (ts.isBindingElement(element)) addPattern(element.name, names);
  }
}

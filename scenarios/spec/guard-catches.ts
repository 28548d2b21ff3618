import type ts from 'typescript';
import { CAUGHT } from '../model/model-format.ts';

/**
 * Lets each `catch` of a spec tell the realm first what it caught, and each `finally` without one, too: how deep calls
 * can nest is decided by the host's stack, and no body may go on from there as if it were a result. `compiler` is
 * TypeScript, which only those load who have something to compile.
 */
export function guardCatches(compiler: typeof ts): ts.TransformerFactory<ts.SourceFile> {
  return (context) => (file) => {
    const { factory } = context;
    const visit = (node: ts.Node): ts.Node => {
      const seen = compiler.visitEachChild(node, visit, context);
      if (!compiler.isTryStatement(seen)) return seen;
      const { tryBlock, catchClause, finallyBlock } = seen;
      const guarded =
        catchClause === undefined ? rethrow(factory) : guardClause(catchClause, compiler, factory);
      return factory.updateTryStatement(seen, tryBlock, guarded, finallyBlock);
    };
    return compiler.visitNode(file, visit) as ts.SourceFile;
  };
}

/** `catch (error) { throw caught(error); }` */
function rethrow(factory: ts.NodeFactory): ts.CatchClause {
  const name = factory.createUniqueName('error');
  const statement = factory.createThrowStatement(callOf(name, factory));
  return factory.createCatchClause(
    factory.createVariableDeclaration(name),
    factory.createBlock([statement]),
  );
}

function guardClause(
  clause: ts.CatchClause,
  compiler: typeof ts,
  factory: ts.NodeFactory,
): ts.CatchClause {
  const { variableDeclaration: variable, block } = clause;
  const own = variable !== undefined && compiler.isIdentifier(variable.name) ? variable.name : null;
  const name = own ?? factory.createUniqueName('error');
  const first: ts.Statement[] = [factory.createExpressionStatement(callOf(name, factory))];
  if (own !== null || variable === undefined) {
    const guarded = factory.updateBlock(block, [...first, ...block.statements]);
    return factory.updateCatchClause(
      clause,
      variable ?? factory.createVariableDeclaration(name),
      guarded,
    );
  }
  // A pattern may run code of what was caught: it comes after the guard.
  const parts = factory.createVariableDeclaration(variable.name, undefined, undefined, name);
  const list = factory.createVariableDeclarationList([parts], compiler.NodeFlags.Let);
  first.push(factory.createVariableStatement(undefined, list));
  return factory.updateCatchClause(
    clause,
    factory.createVariableDeclaration(name),
    factory.createBlock([...first, block]),
  );
}

function callOf(name: ts.Identifier, factory: ts.NodeFactory): ts.CallExpression {
  return factory.createCallExpression(factory.createIdentifier(CAUGHT), undefined, [name]);
}

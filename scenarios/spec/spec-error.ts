import type ts from 'typescript';
import { SimError } from '../../sim/index.ts';

/** `file:line:column` of a node, as places are written. */
export function placeOf(file: string, source: ts.SourceFile, node: ts.Node): string {
  const { line, character } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return `${file}:${line + 1}:${character + 1}`;
}

/** A spec that cannot be planned: what is wrong, where, and how to mend it. */
export function specError(name: string, message: string, place: string, remedy: string): SimError {
  return new SimError({ code: `scenario/spec-${name}`, message, place, remedy });
}

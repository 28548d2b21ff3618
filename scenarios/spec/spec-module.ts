import { dirname, join, normalize } from 'node:path/posix';
import ts from 'typescript';
import { evaluate, type Names, type Static } from './static-value.ts';
import { placeOf, specError } from './spec-error.ts';

/** The module that specs import their words from. */
export const SPEC_MODULE = 'athanor/spec';

/** What `athanor/spec` offers to declare and to say within bodies. */
export const SPEC_WORDS = [
  'assume',
  'choose',
  'determinism',
  'faultAssumption',
  'faultMatrix',
  'faultScenario',
  'halt',
  'parallel',
  'scenario',
  'service',
  'test',
  'waitAll',
  'waitFirst',
  'waitN',
] as const;
export type SpecWord = (typeof SPEC_WORDS)[number];

/** A call of a word of `athanor/spec`. */
export interface SpecCall {
  readonly word: SpecWord;
  readonly node: ts.CallExpression;
}

/** One file of a spec: its syntax, and what its names stand for. Nothing of it ever runs. */
export class SpecModule implements Names {
  readonly file: string;
  readonly source: ts.SourceFile;
  /** Modules of the spec that this one imports, as paths from the spec's folder. */
  readonly imports: readonly { readonly path: string; readonly place: string }[];
  private readonly words = new Map<string, SpecWord>();
  private readonly names = new Map<string, Static>();
  private readonly imported = new Map<string, { readonly file: string; readonly name: string }>();
  private resolveImport: (file: string, name: string) => Static | undefined = () => undefined;

  constructor(file: string, text: string) {
    this.file = file;
    // Nobody asks a node for its parent, and comments of JSDoc say nothing of a plan.
    const options = {
      languageVersion: ts.ScriptTarget.ES2023,
      jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
    };
    this.source = ts.createSourceFile(file, text, options, false, ts.ScriptKind.TS);
    this.refuseSyntaxErrors();
    this.imports = this.source.statements.flatMap((statement) => this.readImport(statement));
  }

  /** How names of other modules of the spec are found. */
  linkImports(resolve: (file: string, name: string) => Static | undefined): void {
    this.resolveImport = resolve;
  }

  /** Gives a name its value, for declarations that refer to it later. */
  define(name: string, value: Static): void {
    this.names.set(name, value);
  }

  lookUp(name: string): Static | undefined {
    const own = this.names.get(name);
    if (own !== undefined) return own;
    const from = this.imported.get(name);
    return from && this.resolveImport(from.file, from.name);
  }

  evaluate(expression: ts.Expression): Static {
    return evaluate(expression, this);
  }

  /** The word of `athanor/spec` that a call says, whatever it was imported as. */
  callOf(node: ts.Node): SpecCall | null {
    if (!ts.isCallExpression(node)) return null;
    const callee = node.expression;
    let word: SpecWord | undefined;
    if (ts.isIdentifier(callee)) word = this.words.get(callee.text);
    else if (ts.isPropertyAccessExpression(callee) && ts.isIdentifier(callee.expression)) {
      const whole = this.words.has(`${callee.expression.text}.*`);
      word = whole ? SPEC_WORDS.find((each) => each === callee.name.text) : undefined;
    }
    return word === undefined ? null : { word, node };
  }

  place(node: ts.Node): string {
    return placeOf(this.file, this.source, node);
  }

  private readImport(statement: ts.Statement): SpecModule['imports'] {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) {
      return [];
    }
    const from = statement.moduleSpecifier.text;
    const bindings = statement.importClause?.namedBindings;
    if (from === SPEC_MODULE) {
      this.readWords(bindings);
      return [];
    }
    if (statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
    if (!from.startsWith('./') && !from.startsWith('../')) {
      throw specError(
        'import',
        `a spec cannot import "${from}": bodies run without a host`,
        this.place(statement.moduleSpecifier),
        `import from "${SPEC_MODULE}" and from files of the spec ("./...")`,
      );
    }
    const file = normalize(join(dirname(this.file), from));
    if (bindings !== undefined && ts.isNamedImports(bindings)) {
      for (const { name, propertyName } of bindings.elements) {
        this.imported.set(name.text, { file, name: (propertyName ?? name).text });
      }
    }
    return [{ path: file, place: this.place(statement.moduleSpecifier) }];
  }

  private readWords(bindings: ts.NamedImportBindings | undefined): void {
    if (bindings === undefined) return;
    if (ts.isNamespaceImport(bindings)) {
      // Stands for all words behind this name.
      this.words.set(`${bindings.name.text}.*`, 'test');
      return;
    }
    for (const { name, propertyName, isTypeOnly } of bindings.elements) {
      const word = SPEC_WORDS.find((each) => each === (propertyName ?? name).text);
      if (word !== undefined && !isTypeOnly) this.words.set(name.text, word);
    }
  }

  private refuseSyntaxErrors(): void {
    // The parser keeps what it found wrong on the file; the public type does not show it.
    const { parseDiagnostics } = this.source as ts.SourceFile & {
      readonly parseDiagnostics: readonly ts.DiagnosticWithLocation[];
    };
    const first = parseDiagnostics[0];
    if (first === undefined) return;
    const { line, character } = this.source.getLineAndCharacterOfPosition(first.start);
    throw specError(
      'syntax',
      ts.flattenDiagnosticMessageText(first.messageText, ' '),
      `${this.file}:${line + 1}:${character + 1}`,
      'mend the syntax; a spec is TypeScript',
    );
  }
}

import ts from 'typescript';
import { SimError, type DeterminismContract, type PlanDiagnostic } from '../../sim/index.ts';
import { bodyAxes } from './body-axes.ts';
import {
  DEFAULT_DETERMINISM,
  readAssumption,
  readDeterminism,
  readMatrix,
  readService,
} from './read-declarations.ts';
import { WordReader } from './read-words.ts';
import { checkLevel, checkNames } from './check-names.ts';
import { SpecModule, type SpecCall } from './spec-module.ts';
import { specError } from './spec-error.ts';
import type {
  Declaration,
  SpecAssumption,
  SpecModel,
  SpecScenario,
  SpecService,
  SpecTest,
} from './spec-model.ts';
import { unwrap, type DeclaredKind, type Static } from './static-value.ts';

/** A spec has at most so many files. */
const FILES_MAX = 1_000;

/** Words that only mean something while a body runs (FB-52). */
const BODY_WORDS = ['assume', 'choose', 'halt', 'parallel', 'waitAll', 'waitFirst', 'waitN'];

/** Reads a file of the spec, by its path from the spec's folder; throws if there is none. */
export type ReadSpecFile = (path: string) => string;

/**
 * Reads what a spec declares from its text and that of the spec's files that it imports. Nothing of it
 * is run (FB-1). Throws `scenario/spec-*` with the place of what is wrong.
 */
export function loadSpec(file: string, read: ReadSpecFile): SpecModel {
  const loader = new SpecLoader(read);
  loader.load(file);
  const model = loader.model(file);
  checkNames(model);
  checkLevel(model);
  return model;
}

class SpecLoader {
  private readonly read: ReadSpecFile;
  private readonly modules = new Map<string, SpecModule>();
  private readonly files = new Map<string, string>();
  private readonly services: SpecService[] = [];
  private readonly assumptions: SpecAssumption[] = [];
  private readonly scenarios: SpecScenario[] = [];
  private readonly tests: SpecTest[] = [];
  private readonly diagnostics: PlanDiagnostic[] = [];
  private determinism: DeterminismContract = DEFAULT_DETERMINISM;
  private seed: number | null = null;

  constructor(read: ReadSpecFile) {
    this.read = read;
  }

  model(file: string): SpecModel {
    const { services, assumptions, scenarios, tests, diagnostics, determinism, seed, files } = this;
    return {
      file,
      seed,
      determinism,
      services,
      assumptions,
      scenarios,
      tests,
      diagnostics,
      files,
    };
  }

  /** A module after those that it imports, once. */
  load(file: string): SpecModule {
    const known = this.modules.get(file);
    if (known !== undefined) return known;
    if (this.files.size >= FILES_MAX) {
      throw specError('files', `the spec has more than ${FILES_MAX} files`, file, 'import fewer');
    }
    const text = this.read(file);
    this.files.set(file, text);
    const module = new SpecModule(file, text);
    this.modules.set(file, module);
    for (const { path, place } of module.imports) this.import(path, place);
    module.linkImports((path, name) => this.modules.get(path)?.lookUp(name));
    for (const statement of module.source.statements) this.statement(statement, module);
    return module;
  }

  /** A file that cannot be read is told at the place that asks for it. */
  private import(path: string, place: string): void {
    try {
      this.load(path);
    } catch (error) {
      if (!(error instanceof SimError) || !error.code.startsWith('input/')) throw error;
      const remedy = 'write the path of a file of the spec, with its ending: "./own.ts"';
      throw specError('import', error.message, place, remedy);
    }
  }

  private statement(statement: ts.Statement, module: SpecModule): void {
    if (ts.isVariableStatement(statement)) {
      for (const { name, initializer } of statement.declarationList.declarations) {
        if (initializer === undefined) continue;
        const value = this.expression(initializer, module);
        if (ts.isIdentifier(name)) module.define(name.text, value);
      }
    } else if (ts.isFunctionDeclaration(statement)) this.function(statement, module);
    else if (ts.isExpressionStatement(statement)) this.expression(statement.expression, module);
    else if (ts.isForOfStatement(statement)) this.loop(statement, module);
    else this.refuseHidden(statement, module);
  }

  /** A loop over a list that stands in the spec is unrolled, so that what it declares is known. */
  private loop(statement: ts.ForOfStatement, module: SpecModule): void {
    const list = module.evaluate(statement.expression);
    const { initializer } = statement;
    const first = ts.isVariableDeclarationList(initializer) ? initializer.declarations[0] : null;
    const name = first && ts.isIdentifier(first.name) ? first.name.text : null;
    if (list.kind !== 'list' || name === null) {
      this.refuseHidden(statement, module);
      return;
    }
    const body = ts.isBlock(statement.statement)
      ? statement.statement.statements
      : [statement.statement];
    for (const item of list.items) {
      module.define(name, item);
      for (const inner of body) this.statement(inner, module);
    }
  }

  private function(node: ts.FunctionDeclaration, module: SpecModule): void {
    const name = node.name?.text;
    if (name === undefined) return;
    module.define(name, { kind: 'function', node });
    const exported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (exported !== true || !name.startsWith('test_')) return;
    this.addTest({ name, kind: 'def', axes: bodyAxes(node, module), place: module.place(node) });
  }

  /** The value of a top-level expression; a call of a word declares something. */
  private expression(expression: ts.Expression, module: SpecModule): Static {
    const call = module.callOf(unwrap(expression));
    if (call === null) {
      this.refuseHidden(expression, module);
      return module.evaluate(expression);
    }
    if (BODY_WORDS.includes(call.word)) {
      throw specError(
        'outside',
        `${call.word}() stands outside a body`,
        module.place(call.node),
        'call it while a test or scenario runs: within its body',
      );
    }
    return this.declare(call, module);
  }

  private declare({ word, node }: SpecCall, module: SpecModule): Static {
    const declaration: Declaration = {
      node,
      args: node.arguments.map((argument) => module.evaluate(argument)),
      place: module.place(node),
    };
    switch (word) {
      case 'service':
        return declared('service', this.services, readService(declaration));
      case 'faultAssumption':
        return declared('assumption', this.assumptions, readAssumption(declaration));
      case 'scenario':
        return this.scenario(declaration, module);
      case 'test':
        return this.test(declaration, module);
      case 'faultScenario':
        return this.faultScenario(declaration);
      case 'faultMatrix':
        return this.matrix(declaration);
      default: {
        const { contract, seed } = readDeterminism(declaration);
        this.determinism = contract;
        this.seed = seed;
        return { kind: 'value', value: null };
      }
    }
  }

  private scenario({ args, place }: Declaration, module: SpecModule): Static {
    const name = new WordReader('scenario()', place).text(args[0], 'its name');
    const reader = new WordReader(`scenario("${name}")`, place);
    const { options, body } = bodyAndOptions(args, reader, ['timeout', 'expect']);
    const axes = bodyAxes(body, module);
    this.scenarios.push({ name, axes, place });
    const ends = common(options, reader);
    this.addTest({ name, kind: 'scenario', axes, place, scenario: name, ...ends });
    return { kind: 'declared', declared: 'scenario', name };
  }

  private test({ args, place }: Declaration, module: SpecModule): Static {
    const name = new WordReader('test()', place).text(args[0], 'its name');
    const reader = new WordReader(`test("${name}")`, place);
    const { options, body } = bodyAndOptions(args, reader, ['timeout', 'expect', 'faults']);
    const faults = assumptionNames(options, reader);
    const axes = bodyAxes(body, module);
    const ends = common(options, reader);
    this.addTest({ name, kind: 'test_builtin', axes, place, faults, ...ends });
    return { kind: 'value', value: null };
  }

  private faultScenario({ args, place }: Declaration): Static {
    const name = new WordReader('faultScenario()', place).text(args[0], 'its name');
    const reader = new WordReader(`faultScenario("${name}")`, place);
    const options = reader.table(args[1], ['scenario', 'faults', 'expect', 'timeout']);
    const scenario = reader.name(options.get('scenario'), ['scenario'], 'scenario');
    const faults = assumptionNames(options, reader);
    if (faults.length === 0) reader.fail('it has no faults', 'write faults: [..]');
    const ends = common(options, reader);
    this.addTest({ name, kind: 'fault_scenario', place, scenario, faults, ...ends });
    return { kind: 'value', value: null };
  }

  /** Cells that share a scenario are one test (FB-5). */
  private matrix(declaration: Declaration): Static {
    const { cells, timeout } = readMatrix(declaration);
    for (const scenario of new Set(cells.map((cell) => cell.scenario))) {
      const own = cells.filter((cell) => cell.scenario === scenario);
      const expects = new Set(own.map((cell) => cell.expect));
      this.addTest({
        name: `test_matrix_${scenario}`,
        kind: 'fault_matrix',
        place: declaration.place,
        scenario,
        cells: own,
        faults: own.map((cell) => cell.fault),
        expect: expects.size > 1 ? '(mixed — per-cell overrides)' : (own[0]?.expect ?? null),
        timeout,
      });
    }
    return { kind: 'value', value: null };
  }

  private addTest(
    test: Pick<SpecTest, 'name' | 'kind' | 'place'> & Partial<Omit<SpecTest, 'name'>>,
  ): void {
    const { name, kind, place, scenario = null, axes = [], cells = [], faults = [] } = test;
    const { expect = null, timeout = null } = test;
    this.tests.push({ name, kind, place, scenario, axes, cells, faults, expect, timeout });
  }

  /** A declaration inside a branch or a function cannot be counted: say so, never guess (FB-33). */
  private refuseHidden(node: ts.Node, module: SpecModule): void {
    const visit = (inner: ts.Node): void => {
      const call = module.callOf(inner);
      if (call !== null && !BODY_WORDS.includes(call.word)) {
        this.diagnostics.push({
          code: 'unmodeled_registration',
          message: `${call.word}() is called where only a run would tell how often`,
          place: module.place(inner),
        });
      }
      ts.forEachChild(inner, visit);
    };
    visit(node);
  }
}

function declared<T extends { readonly name: string }>(
  kind: DeclaredKind,
  list: T[],
  item: T,
): Static {
  list.push(item);
  return { kind: 'declared', declared: kind, name: item.name };
}

function bodyAndOptions(
  args: readonly Static[],
  reader: WordReader,
  keys: readonly string[],
): { readonly options: ReadonlyMap<string, Static>; readonly body: ts.SignatureDeclaration } {
  const [, second, third] = args;
  const body = reader.function(third ?? second, 'its body');
  const options = third === undefined ? new Map<string, Static>() : reader.table(second, keys);
  return { options, body };
}

function common(
  options: ReadonlyMap<string, Static>,
  reader: WordReader,
): Pick<SpecTest, 'expect' | 'timeout'> {
  return {
    expect: reader.expect(options.get('expect')),
    timeout: reader.span(options.get('timeout'), 'timeout'),
  };
}

function assumptionNames(
  options: ReadonlyMap<string, Static>,
  reader: WordReader,
): readonly string[] {
  return reader.names(options.get('faults'), 'assumption', 'faults');
}

import { SimError, type ScenarioDef } from '../../sim/index.ts';
import {
  compileScenario,
  type CompiledScenario,
  type ScenarioFiles,
  TEST_NODE,
} from '../../scenarios/index.ts';
import { ErrorList } from '../errors.ts';
import { findDeclared, type Suite } from './suite.ts';

/** How a leaf's body is named in the realm, and what its node's exit means. */
export interface LeafBody {
  /** `test:<name>`, `scenario:<name>` or `def:<name>`. */
  readonly key: string;
  /** The test's name: that of the scenario that the run has. */
  readonly name: string;
  readonly faults: readonly string[];
  /** A span such as `10s`, or null for the default. */
  readonly timeout: string | null;
}

/** The name by which a scenario's guest refers to the spec's own code. */
const SPEC_GUEST = 'athanor:spec';
const DEFAULT_TIMEOUT = '60s';

type Row = Record<string, unknown>;

/** The scenario of a leaf: the services, a node for the body, the assumptions' rules as events. */
export function leafScenario(suite: Suite, body: LeafBody): CompiledScenario {
  const services = suite.declared.filter(({ kind }) => kind === 'service');
  const guest: Record<string, unknown> = { spec: { wasm: SPEC_GUEST } };
  const node: Row[] = services.map(({ name, options }) => {
    const { guest: own, model, args, env, file } = options as Row;
    if (model !== true && own === undefined) {
      throw new SimError({
        code: 'scenario/spec-value',
        message: `service("${name}") has neither a guest nor a body: it cannot run`,
        place: suite.model.file,
        remedy: 'give it guest: { builtin: "..." }, { wasm: "file.wasm" }, or a body',
      });
    }
    if (model === true)
      return { name, guest: 'spec', args: [`service:${name}`], ...defined({ env, file }) };
    guest[`service-${name}`] = own;
    return { name, guest: `service-${name}`, ...defined({ args, env, file }) };
  });
  node.push({ name: TEST_NODE, guest: 'spec', args: [body.key] });
  const text = {
    schema_version: 1,
    // A test may be called anything, a scenario may not.
    name: body.name.replaceAll(/[^A-Za-z0-9 ._:-]/g, '-'),
    until: 'property',
    guest,
    node,
    event: body.faults.flatMap((name) => ruleEvents(suite, name)),
    property: [{ name: 'the body passes', kind: 'exit', nodes: [TEST_NODE], code: 0 }],
    limits: { virtual_time: body.timeout ?? DEFAULT_TIMEOUT },
  };
  const source = { file: `${suite.model.file} (${body.name})`, locate: () => null };
  const read = new Map<string, Uint8Array>();
  const result = compileScenario(text as never, source, filesOf(suite, read));
  if (!result.ok) throw new ErrorList(result.errors.map((error) => placed(error, suite, body)));
  const { def, images } = result.scenario;
  return { def: withSeed(def, suite), images, sources: specSources(suite, read, images) };
}

/** An error of the scenario that a leaf is made into, told where the spec says what is wrong. */
function placed(error: SimError, { model }: Suite, { faults }: LeafBody): SimError {
  const { code, message, place = '', remedy = 'see docs/scenarios.md' } = error;
  const [, kind = '', index = '', rest = ''] = /(event|node)\[(\d+)\](\S*)$/.exec(place) ?? [];
  const [, service = ''] = /guest\.service-([^.]+)/.exec(place) ?? [];
  const rules = faults.flatMap((name) => {
    const assumption = model.assumptions.find((each) => each.name === name);
    return (assumption?.rules ?? []).map((_, at) => ({
      place: assumption?.place ?? '',
      what: `rules[${at}]${rest}`,
    }));
  });
  const named = model.services.find(({ name }) => name === service);
  const found = kind === 'event' ? rules[Number(index)] : undefined;
  const node = kind === 'node' ? model.services[Number(index)] : named;
  if (found !== undefined) {
    return new SimError({ code, message, place: `${found.place}: ${found.what}`, remedy });
  }
  if (node === undefined) return error;
  return new SimError({ code, message, place: `${node.place}: service "${node.name}"`, remedy });
}

/** The events of an assumption's rules; what only a plan reads is left out. */
export function ruleEvents(suite: Suite, assumption: string): readonly Row[] {
  const rules = findDeclared(suite, 'assumption', assumption)?.options['rules'] as readonly Row[];
  return rules.map((rule, index) => {
    const event = Object.entries(rule).filter(([key]) => key !== 'max_fires' && key !== 'mode');
    return { at: '0s', ...Object.fromEntries(event), name: ruleName(assumption, index) };
  });
}

/** How a rule's event is called: a part of the names of its streams. */
export function ruleName(assumption: string, index: number): string {
  return `${assumption}.${index + 1}`;
}

function withSeed(def: ScenarioDef, { plan }: Suite): ScenarioDef {
  return { ...def, seed: plan.seed };
}

/** The suite's files; what is read of them is kept in `read`. */
function filesOf({ files, image }: Suite, read: Map<string, Uint8Array>): ScenarioFiles {
  return {
    read: (path) => {
      if (path === SPEC_GUEST) return image.bytes;
      const bytes = files.read(path);
      read.set(path, bytes);
      return bytes;
    },
    builtinGuest: (name) => files.builtinGuest(name),
  };
}

/** Every file of the spec, for the bundle's `spec/` (FB-60): images are in the bundle by content. */
function specSources(
  { model }: Suite,
  read: ReadonlyMap<string, Uint8Array>,
  images: ReadonlyMap<string, Uint8Array>,
): CompiledScenario['sources'] {
  const encoder = new TextEncoder();
  const own = [...model.files].map(([name, text]) => ({ name, bytes: encoder.encode(text) }));
  const guests = new Set(images.values());
  const data = [...read].filter(([, bytes]) => !guests.has(bytes));
  return [...own, ...data.map(([name, bytes]) => ({ name, bytes }))];
}

function defined(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

import { NODE_NAME } from '../../sim/index.ts';
import { didYouMean } from '../suggest.ts';
import { TEST_NODE, type SpecModel } from './spec-model.ts';
import { specError } from './spec-error.ts';

/** A level that a guest of the spec cannot keep is refused, with the guest and the reason (FB-68). */
export function checkLevel({ determinism, services }: SpecModel): void {
  if (determinism.level !== 'L5') return;
  const weaker = services.find(({ isMachine }) => !isMachine);
  if (weaker === undefined) return;
  throw specError(
    'level',
    `the spec asks for L5, and service "${weaker.name}" is no machine: it keeps levels up to L4`,
    weaker.place,
    'ask for L4, or let a machine run it: guest: { machine: { kernel: "...", initrd: "..." } }',
  );
}

/** Refuses names that stand twice and names that nothing stands behind. */
export function checkNames(model: SpecModel): void {
  refuseTwice('service', model.services);
  refuseTwice('fault assumption', model.assumptions);
  refuseTwice('test', model.tests);
  model.services.forEach(checkNode);
  const services = model.services.map(({ name }) => name);
  for (const { name, dependsOn, place } of model.services) {
    for (const other of dependsOn) known(other, services, `service "${name}" depends on`, place);
  }
  for (const { name, targets, place } of model.assumptions) {
    for (const target of targets) {
      for (const end of target.split('->')) {
        known(end, services, `the target of fault assumption "${name}" is`, place);
      }
    }
  }
  const scenarios = model.scenarios.map(({ name }) => name);
  const assumptions = model.assumptions.map(({ name }) => name);
  for (const { name, scenario, faults, place } of model.tests) {
    if (scenario !== null) known(scenario, scenarios, `test "${name}" runs`, place);
    for (const fault of faults) known(fault, assumptions, `test "${name}" has the fault`, place);
  }
}

/** A service is a node of the simulated network: its name is a host's, and not the one of the body's node. */
function checkNode({ name, place }: SpecModel['services'][number]): void {
  if (name === TEST_NODE) {
    const message = `the service "${name}" has the name of the node that bodies of tests run on`;
    throw specError('name', message, place, 'give it another name');
  }
  if (NODE_NAME.test(name)) return;
  const message = `"${name}" is no host name, which a service's has to be`;
  const remedy = 'write small letters, digits and inner hyphens, at most 63';
  throw specError('name', message, place, remedy);
}

function refuseTwice(
  what: string,
  items: readonly { readonly name: string; readonly place: string }[],
): void {
  const places = new Map<string, string>();
  for (const { name, place } of items) {
    const before = places.get(name);
    if (before !== undefined) {
      const message = `the ${what} "${name}" stands twice, first at ${before}`;
      throw specError('duplicate', message, place, 'give each its own name');
    }
    places.set(name, place);
  }
}

function known(name: string, names: readonly string[], what: string, place: string): void {
  if (names.includes(name)) return;
  const list = names.length === 0 ? 'the spec declares none' : `there are ${names.join(', ')}`;
  const message = `${what} "${name}", which nothing declares${didYouMean(name, names)}`;
  throw specError('dangling', message, place, list);
}

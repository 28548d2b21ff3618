import { parametersOf } from '../../sim/index.ts';
import { layOut } from '../columns.ts';
import type { Context } from '../context.ts';
import { makeHandlers } from '../record/handlers.ts';
import { openWorld } from '../record/open-world.ts';

/** `sim world check`: whether a world file is sound, with its handlers, and what it has. */
export function run(args: readonly string[], _options: unknown, context: Context): number {
  const world = openWorld(args[0] ?? '', (path) => context.path(path));
  const { def, modules } = world;
  makeHandlers(def, modules);
  const { output } = context;
  const records = def.records.map(({ service, name, count, fields }) => {
    return { service, name, count, fields: fields.length };
  });
  const operations = def.operations.map((operation) => {
    const { service, name, kind } = operation;
    return {
      service,
      name,
      kind,
      parameters: parametersOf(def, operation).map((each) => each.name),
    };
  });
  output.record({ type: 'world', name: def.name, seed: def.seed, records, operations });
  output.say(`${def.name} is a sound world, seed ${def.seed}`);
  const rows = [
    ...records.map(({ service, name, count }) => ['record', `${service}.${name}`, `${count} rows`]),
    ...operations.map(({ service, name, kind, parameters }) => {
      return ['operation', `${service}.${name}`, `${kind}(${parameters.join(', ')})`];
    }),
  ];
  for (const line of layOut(rows)) output.say(`  ${line}`);
  return 0;
}

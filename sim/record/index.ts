/** Record worlds: typed tables behind operations, with faults: a stateful service that is a fake. */
export * from './world-def.ts';
export * from './datetime.ts';
export * from './refusal.ts';
export * from './value.ts';
export * from './table.ts';
export * from './seeding.ts';
export * from './record-world.ts';
export * from './record-clock.ts';
export * from './handler.ts';
export * from './fault-rules.ts';
export * from './call.ts';
export * from './trace.ts';
export * from './operations.ts';
export * from './record-service.ts';
export * from './http-routes.ts';

/** Driving one target under a plan of directives, with crashes and restarts, and grading it. */
export * from './drive-plan.ts';
export * from './drive-faults.ts';
export * from './drive-scenario.ts';
export * from './grade.ts';

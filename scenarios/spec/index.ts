/**
 * Specs of suites, read without running them. Apart from the scenarios' index, because it loads the
 * compiler that parses them.
 */
export { checkTypes } from './check-types.ts';
export { loadSpec, type ReadSpecFile } from './load-spec.ts';
export { makePlan } from './make-plan.ts';
export { SPEC_MODULE } from './spec-module.ts';
export type { SpecAssumption, SpecModel, SpecService, SpecTest } from './spec-model.ts';
export { modelImage, type ModelImage } from '../model/model-image.ts';
export { ruleAxes } from './make-plan.ts';

/** Reading and writing the WebAssembly binary format. */
export { functionImports } from './function-imports.ts';
export type { FunctionImport } from './function-imports.ts';
export { parseModule } from './parse.ts';
export { KIND, KIND_NAMES, LIMIT, MODE } from './module.ts';
export type * from './module.ts';
export { TYPE, typeName } from './types.ts';
export type { FunctionType, ValueType } from './types.ts';

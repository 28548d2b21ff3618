/** The WebAssembly guest engine. Other folders import it through here. */
export { WasmEngine } from './runtime/engine.ts';
export { WasmGuest, type WasmGuestState } from './runtime/wasm-guest.ts';
export type { PreparedProgram } from './runtime/prepared.ts';
export type { Code, CodeCache } from './runtime/code-store.ts';
export { HandlerModule, HANDLER_FUEL, type HandlerReply } from './handler/handler-module.ts';
export { explainModule, type ExplainedEntry, type Explanation } from './instrument/explain.ts';
export { explainImage, instrumentImage, type ExplainedImage } from './runtime/examine.ts';

/** Backends of machines that can be asked for. */
export const BACKEND_KINDS = ['plugin', 'patched', 'stock'] as const;
export type BackendKind = (typeof BACKEND_KINDS)[number];

/** The first line of a model image; what follows is the spec's code for a realm. */
export const MODEL_MAGIC = '// athanor model 1\n';

/** What a spec's code calls the realm's function that each `catch` hands on what it caught (realm/errors.js). */
export const CAUGHT = 'athanor$caught';

/** A file of a spec as a model image holds it: a JSON list of these follows the first line. */
export interface ModelModule {
  readonly name: string;
  readonly code: string;
  /** The source map (ECMA-426) back to the spec's lines. */
  readonly map: string;
}

/** Whether an image is a model's. */
export function isModelImage(bytes: Uint8Array): boolean {
  if (bytes.length <= MODEL_MAGIC.length) return false;
  return Array.from(MODEL_MAGIC).every((letter, index) => bytes[index] === letter.charCodeAt(0));
}

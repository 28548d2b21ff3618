/** Begins the detail of a property that passed because it had nothing to judge (FB-71). */
export const VACUOUS = 'vacuous';

/** Whether a property passed without having judged anything. */
export function isVacuous(property: {
  readonly verdict: string;
  readonly detail: string;
}): boolean {
  return property.verdict === 'pass' && property.detail.startsWith(`${VACUOUS}:`);
}

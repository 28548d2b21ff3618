import type { DriveAssert } from './drive-plan.ts';
import { ATTEMPT_MARKER } from '../record/call-client.ts';

/** What is stable about a finding (KS-33). */
export type FindingTopic =
  | 'no-events'
  | 'max-attempts'
  | 'breaker'
  | 'flow-status'
  | 'crash-restart'
  | 'exit-code'
  | 'spawn'
  | 'target-not-seen';

export interface Finding {
  readonly level: 'error' | 'warning';
  readonly topic: FindingTopic;
  readonly detail: string;
}

/** What a target said about itself, and what the host saw of its calls, in order. */
export interface DriveEvent {
  readonly name: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** How the target ended. */
export interface DriveEnd {
  /** As a shell has it: 137 for a crash without a restart left, 134 for a trap. */
  readonly exitCode: number;
  readonly restarts: number;
  readonly hasCrashed: boolean;
}

/** The names of markers by which a target tells that a breaker opened, and how its flow stands. */
export const BREAKER_MARKER = 'breaker_open';
export const FLOW_MARKER = 'flow_status';

/** Reads what markers tell; texts that are no events of a drive are left out (KS-25). */
export function driveEvents(markers: readonly string[]): readonly DriveEvent[] {
  return markers.flatMap((text): DriveEvent[] => {
    try {
      const value = JSON.parse(text) as { readonly name?: unknown; readonly details?: unknown };
      const { name, details } = value;
      const isOurs = name === ATTEMPT_MARKER || name === BREAKER_MARKER || name === FLOW_MARKER;
      if (!isOurs || typeof details !== 'object' || details === null) return [];
      return [{ name, details: details as DriveEvent['details'] }];
    } catch {
      return [];
    }
  });
}

/** Grades a run by its events: one finding for each violation. */
export function gradeDrive(
  wanted: DriveAssert,
  events: readonly DriveEvent[],
  end: DriveEnd,
  maxRestarts: number,
): readonly Finding[] {
  const findings: Finding[] = [];
  const add = (topic: FindingTopic, detail: string, level: Finding['level'] = 'error'): void => {
    findings.push({ level, topic, detail });
  };
  if (end.hasCrashed) {
    const detail = `still crashing after ${end.restarts} restarts, the cap is ${maxRestarts}`;
    add('crash-restart', detail);
  }
  const needsEvents = Object.keys(wanted.maxAttempts).length > 0 || wanted.breakerOpen.length > 0;
  if (needsEvents && events.length === 0) {
    add(
      'no-events',
      'nothing was seen to assert on: make the calls through the host, and tell breakers by markers',
    );
  }
  for (const [target, most] of Object.entries(wanted.maxAttempts)) {
    const attempts = mostAttempts(events, target);
    if (attempts > most) {
      add(
        'max-attempts',
        `${target}: a call took ${attempts} attempts, at most ${most} are allowed`,
      );
    } else if (attempts === 0 && events.length > 0) {
      add('target-not-seen', `${target}: no call was seen`, 'warning');
    }
  }
  for (const target of wanted.breakerOpen) {
    if (!hasOpened(events, target)) add('breaker', `${target}: the breaker never opened`);
  }
  for (const target of wanted.noBreakerOpen) {
    if (hasOpened(events, target)) add('breaker', `${target}: the breaker opened`);
  }
  gradeFlow(wanted.flowStatus, events, add);
  if (wanted.exitCode !== null && wanted.exitCode !== end.exitCode) {
    add('exit-code', `the target ended with ${end.exitCode}, expected ${wanted.exitCode}`);
  }
  return findings;
}

/** The state of the newest flow (KS-28): the last that was told. */
function gradeFlow(
  wanted: string | null,
  events: readonly DriveEvent[],
  add: (topic: FindingTopic, detail: string) => void,
): void {
  if (wanted === null) return;
  const last = events.filter(({ name }) => name === FLOW_MARKER).at(-1);
  if (last === undefined) {
    add('flow-status', `no flow was told of, expected one with status "${wanted}"`);
    return;
  }
  const { flow, status } = last.details;
  if (status === wanted) return;
  add(
    'flow-status',
    `flow ${JSON.stringify(flow)} has status ${JSON.stringify(status)}, expected "${wanted}"`,
  );
}

function mostAttempts(events: readonly DriveEvent[], target: string): number {
  let most = 0;
  for (const { name, details } of events) {
    if (name !== ATTEMPT_MARKER || details['target'] !== target) continue;
    most = Math.max(most, Number(details['attempt']));
  }
  return most;
}

function hasOpened(events: readonly DriveEvent[], target: string): boolean {
  return events.some(
    ({ name, details }) => name === BREAKER_MARKER && details['target'] === target,
  );
}

/** The report of a drive; its keys are sorted (KS-34). */
export interface DriveReport {
  readonly exit_code: number;
  readonly findings: readonly Finding[];
  readonly ok: boolean;
  readonly plan: string;
  readonly restarts: number;
  readonly warnings: readonly Finding[];
}

/** `ok` means no findings: the target's own exit code is none unless it was asserted (KS-35). */
export function driveReport(plan: string, end: DriveEnd, all: readonly Finding[]): DriveReport {
  const findings = all.filter(({ level }) => level === 'error');
  return {
    exit_code: end.exitCode,
    findings,
    ok: findings.length === 0,
    plan,
    restarts: end.restarts,
    warnings: all.filter(({ level }) => level === 'warning'),
  };
}

import { assert } from '../kernel/assert.ts';
import type { Decisions } from '../kernel/decision.ts';
import type { EventKind, EventLog } from '../kernel/event-log.ts';
import type { Effect, Outcome, Wait } from '../kernel/guest.ts';
import { digest32 } from '../kernel/rolling-digest.ts';
import { formatSpan, MILLION, type Millionths, type VirtualNs } from '../kernel/units.ts';
import { encodeUtf8 } from '../kernel/utf8.ts';
import type { Network } from '../network/network.ts';
import type { GuestDef } from '../plan/scenario.ts';
import type { PropertyChecker } from '../property/checker.ts';
import type { FileSystem } from '../storage/file-system.ts';
import type { Consoles } from './consoles.ts';
import { hasStopped, isAlive, newLife, type NodeLife, type NodeStatus } from './node-life.ts';
import type { Machines } from './machines.ts';
import type { NoteList } from './notes.ts';
import type { Scheduling } from './scheduling.ts';
import type { Step } from './step.ts';
import type { Note } from './timeline.ts';

/** What the life of nodes touches of the world. */
export interface LivesHost {
  readonly names: readonly string[];
  readonly decisions: Decisions;
  readonly events: EventLog;
  readonly network: Network;
  readonly files: readonly FileSystem[];
  readonly machines: Machines;
  readonly consoles: Consoles;
  readonly checker: PropertyChecker;
  readonly notes: NoteList;
  readonly scheduling: Scheduling;
  /** The state of the node's disk as it was at the start of the world. */
  readonly newDisk: (node: number) => unknown;
  /** Something the driver must do before the next boundary. */
  readonly push: (step: Step) => void;
  /** Queues an event of the node's own; the world gives it back to `start` or `deadline`. */
  readonly schedule: (atNs: VirtualNs, node: number, kind: 'start' | 'deadline') => void;
}

interface LifeKinds {
  readonly start: EventKind;
  readonly exit: EventKind;
  readonly trap: EventKind;
  readonly crash: EventKind;
  readonly pause: EventKind;
}

/** The lives of all nodes: who runs, who waits for what, and how a life begins and ends. */
export class NodeLives {
  private readonly host: LivesHost;
  private readonly kinds: LifeKinds;
  private lives: NodeLife[];
  /** The nodes of status `runnable`, in no order: mostly few of many. */
  private runnable: number[] = [];
  /** How many timers have woken a guest: for whoever watches, no part of the state. */
  timersFired = 0;

  constructor(host: LivesHost) {
    this.host = host;
    this.lives = host.names.map(() => newLife());
    const { events } = host;
    this.kinds = {
      start: events.kind('guest/start'),
      exit: events.kind('guest/exit'),
      trap: events.kind('guest/trap'),
      crash: events.kind('guest/crash'),
      pause: events.kind('guest/pause'),
    };
  }

  /** What is known of a node's guest. */
  life(node: number): Readonly<NodeLife> {
    return this.mutable(node);
  }

  /** Whether every node has run and none runs any more. */
  get allStopped(): boolean {
    return this.lives.every(({ status }) => hasStopped(status));
  }

  /** Whether the node has a guest that runs or waits. */
  isRunning(node: number): boolean {
    return isAlive(this.life(node).status);
  }

  /** Nodes that crashed and have not been started again, in order. */
  crashed(): readonly number[] {
    return this.lives.flatMap(({ status }, node) => (status === 'crashed' ? [node] : []));
  }

  /** The runnable guest with the least local time, then the least index; or -1. */
  firstRunnable(): number {
    let first = -1;
    let firstNs = Infinity;
    for (const node of this.runnable) {
      const { localNs } = this.lives[node] as NodeLife;
      if (localNs > firstNs || (localNs === firstNs && node > first)) continue;
      first = node;
      firstNs = localNs;
    }
    return first;
  }

  /** The nodes whose guests could go on, in no order. */
  get runnableNodes(): readonly number[] {
    return this.runnable;
  }

  /** The least local clock of the runnable guests other than this one. */
  othersNs(node: number): VirtualNs {
    let othersNs = Infinity;
    for (const other of this.runnable) {
      if (other !== node) othersNs = Math.min(othersNs, (this.lives[other] as NodeLife).localNs);
    }
    return othersNs;
  }

  /** Whether no other guest runs, or waits for a time. */
  areAtRest(node: number): boolean {
    return this.lives.every(({ status, wait }, other) => {
      if (other === node || !isAlive(status)) return true;
      return status === 'waiting' && (wait?.deadlineNs ?? null) === null;
    });
  }

  /** The latest local clock of a node that is alive, or 0. */
  latestNs(): VirtualNs {
    return this.lives.reduce((latestNs, { status, localNs }) => {
      return isAlive(status) ? Math.max(latestNs, localNs) : latestNs;
    }, 0);
  }

  /** The node's guest is about to be resumed: it waits for nothing any more. */
  resumed(node: number): Readonly<NodeLife> {
    const life = this.mutable(node);
    life.wait = null;
    return life;
  }

  /** What the resumed guest did, and the last time at which it looked at the world. */
  apply(node: number, effect: Effect, observedNs: VirtualNs): void {
    const life = this.mutable(node);
    assert(effect.atNs >= life.localNs, "a guest's clock does not go back");
    life.localNs = effect.atNs;
    life.observedNs = observedNs;
    switch (effect.kind) {
      case 'preempted':
        life.reason = 'continue';
        if (this.files(node).isStuck) this.hang(node, life);
        return;
      case 'wait':
        if (!this.files(node).isStuck) return this.wait(node, life, effect.wait);
        life.reason = 'ready';
        return this.hang(node, life);
      case 'exit':
        return this.exit(node, life, effect.code);
      case 'trap':
        return this.trap(node, life, effect.code, effect.message);
    }
  }

  start(node: number, atNs: VirtualNs): void {
    const { network, events, notes } = this.host;
    const life = this.mutable(node);
    if (isAlive(life.status)) return;
    network.setUp(node, true);
    const again = life.lives > 0;
    const { observedNs, cpu, build } = life;
    Object.assign(life, { ...newLife(), lives: life.lives + 1, observedNs, cpu, build });
    this.host.machines.begin(node, cpu, atNs);
    this.setStatus(node, 'runnable');
    this.host.checker.temporal?.node(node, 'started', atNs);
    life.localNs = atNs;
    life.deadlineQueuedNs = -1;
    this.host.push({ kind: 'start', node });
    events.append(this.kinds.start, node, atNs, life.lives, 0);
    notes.add({ atNs, node, kind: again ? 'restart' : 'start', text: again ? 'restart' : 'start' });
  }

  /** Whether a deadline event for that time changes nothing when it comes. */
  isVoid(node: number, atNs: VirtualNs): boolean {
    const { deadlineQueuedNs, status, wait } = this.life(node);
    return deadlineQueuedNs !== atNs || status !== 'waiting' || wait?.deadlineNs === null;
  }

  /** A deadline event has come: wakes the node if that is what it waits for; false if not. */
  deadline(node: number, atNs: VirtualNs): boolean {
    const life = this.mutable(node);
    if (life.deadlineQueuedNs !== atNs) return false;
    life.deadlineQueuedNs = -1;
    const deadlineNs = life.wait?.deadlineNs ?? null;
    if (life.status !== 'waiting' || deadlineNs === null) return false;
    if (deadlineNs > atNs) {
      this.queueDeadline(node, life, deadlineNs);
      return false;
    }
    this.timersFired++;
    this.wake(node, 'deadline', atNs);
    return true;
  }

  /** A packet or a timer of the node's has come: wakes the guest if it made something ready. */
  wakeIfReady(node: number, atNs: VirtualNs): void {
    const life = this.mutable(node);
    if (life.status !== 'waiting' || life.wait === null) return;
    const stack = this.host.network.stack(node);
    if (stack.becameReady(life.wait.interests)) this.wake(node, 'ready', atNs);
  }

  /** Power loss, also after the program has ended; false if the machine is not on. */
  crash(node: number, atNs: VirtualNs): boolean {
    const { names, network, decisions } = this.host;
    const life = this.mutable(node);
    if (!network.isUp(node)) return false;
    const ran = isAlive(life.status);
    this.stop(node, life, atNs);
    if (ran) this.host.consoles.close(node, life.localNs);
    network.setUp(node, false);
    const stream = decisions.stream(`node/${names[node] ?? ''}/disk/crash`);
    this.files(node).crash((arity) => decisions.decide(stream, atNs, arity), atNs);
    if (ran) this.host.push({ kind: 'stop', node });
    this.tell(this.kinds.crash, 'crash', 'crash', { node, atNs, input: life.lives });
    return true;
  }

  /** The program ends as by SIGKILL: its system closes its sockets and files. */
  kill(node: number, atNs: VirtualNs): boolean {
    const life = this.mutable(node);
    if (!isAlive(life.status)) return false;
    this.stop(node, life, atNs);
    this.endLife(node);
    this.tell(this.host.events.kind('guest/kill'), 'crash', 'kill', {
      node,
      atNs,
      input: life.lives,
    });
    return true;
  }

  /** Power loss, and a disk as at the start of the world takes the place of the old one. */
  wipe(node: number, atNs: VirtualNs): boolean {
    if (this.host.machines.awaits(node)) return false;
    this.crash(node, atNs);
    this.files(node).restore(this.host.newDisk(node));
    const kind = this.host.events.kind('guest/wipe');
    this.tell(kind, 'wipe', 'the disk is lost', { node, atNs, input: 0 });
    return true;
  }

  /** The program ends and another build of it starts on the same disk. */
  upgrade(node: number, guest: GuestDef, atNs: VirtualNs): boolean {
    this.kill(node, atNs);
    const life = this.mutable(node);
    life.build = guest;
    const input = digest32(encodeUtf8(guest.image));
    const kind = this.host.events.kind('guest/upgrade');
    this.tell(kind, 'upgrade', `upgrade to ${guest.label}`, { node, atNs, input });
    this.host.schedule(atNs, node, 'start');
    return true;
  }

  /** Starts a node that does not run, as an event of this time. */
  restart(node: number, atNs: VirtualNs): boolean {
    if (isAlive(this.life(node).status) || this.host.machines.awaits(node)) return false;
    this.host.schedule(atNs, node, 'start');
    return true;
  }

  pause(node: number, untilNs: VirtualNs, atNs: VirtualNs): boolean {
    const life = this.mutable(node);
    if (!isAlive(life.status)) return false;
    life.pausedUntilNs = Math.max(life.pausedUntilNs, untilNs);
    this.host.checker.temporal?.node(node, 'hung', atNs, untilNs);
    if (life.status === 'runnable') life.localNs = Math.max(life.localNs, untilNs);
    this.host.events.append(this.kinds.pause, node, atNs, 0, untilNs - atNs);
    const text = `pause for ${formatSpan(untilNs - atNs)}`;
    this.host.notes.add({ atNs, node, kind: 'pause', text });
    return true;
  }

  /** From here on the node gets this share of its processor. */
  slow(node: number, cpu: Millionths, atNs: VirtualNs): boolean {
    const life = this.mutable(node);
    if (life.cpu === cpu) return false;
    life.cpu = cpu;
    if (isAlive(life.status)) this.host.machines.share(node, cpu, atNs);
    const text = cpu === MILLION ? 'full speed' : `slow: ${cpu} millionths of its processor`;
    const { events, notes } = this.host;
    events.append(events.kind('guest/slow'), node, atNs, 0, cpu);
    notes.add({ atNs, node, kind: 'pause', text });
    return true;
  }

  /** A guest that waits looks at its clocks again: they are not what they were. */
  wakeForClock(node: number, atNs: VirtualNs): void {
    if (this.files(node).isStuck) return;
    if (this.life(node).status === 'waiting') this.wake(node, 'ready', atNs);
  }

  /** The disk of a guest that hung on it goes on: the guest does so as well, where it stopped. */
  wakeFromDisk(node: number, atNs: VirtualNs): void {
    const { status, reason } = this.life(node);
    if (status === 'waiting') this.wake(node, reason, atNs);
  }

  capture(): readonly NodeLife[] {
    return this.lives.map((life) => ({ ...life }));
  }

  restore(state: readonly NodeLife[]): void {
    this.lives = state.map((life) => ({ ...life }));
    this.runnable = this.lives.flatMap(({ status }, node) => (status === 'runnable' ? [node] : []));
  }

  private mutable(node: number): NodeLife {
    const life = this.lives[node];
    assert(life !== undefined, 'the node exists');
    return life;
  }

  private stop(node: number, life: NodeLife, atNs: VirtualNs): void {
    this.setStatus(node, 'crashed');
    this.host.checker.temporal?.node(node, 'crashed', atNs);
    life.wait = null;
    // A pause or a slow disk has put the guest's clock ahead of what it has seen and done.
    life.localNs = Math.max(life.observedNs, atNs);
  }

  private tell(
    kind: EventKind,
    note: Note['kind'],
    text: string,
    what: { readonly node: number; readonly atNs: VirtualNs; readonly input: number },
  ): void {
    const { node, atNs, input } = what;
    this.host.events.append(kind, node, atNs, input, 0);
    this.host.notes.add({ atNs, node, kind: note, text });
  }

  private files(node: number): FileSystem {
    return this.host.files[node] as FileSystem;
  }

  private setStatus(node: number, status: NodeStatus): void {
    const life = this.mutable(node);
    const place = this.runnable.indexOf(node);
    if (status === 'runnable' && place < 0) this.runnable.push(node);
    else if (status !== 'runnable' && place >= 0) this.runnable.splice(place, 1);
    life.status = status;
  }

  /** The node's disk is stuck: nothing wakes the guest but its release. */
  private hang(node: number, life: NodeLife): void {
    this.setStatus(node, 'waiting');
    life.wait = { deadlineNs: null, interests: [] };
  }

  private wait(node: number, life: NodeLife, wait: Wait): void {
    if (this.host.network.stack(node).isReady(wait.interests)) {
      life.reason = 'ready';
      return;
    }
    if (wait.deadlineNs !== null && wait.deadlineNs <= life.localNs) {
      life.reason = 'deadline';
      return;
    }
    this.setStatus(node, 'waiting');
    life.wait = wait;
    if (wait.deadlineNs !== null) this.queueDeadline(node, life, wait.deadlineNs);
  }

  /** One deadline event a node is enough: the earliest; it is queued again when it comes too early. */
  private queueDeadline(node: number, life: NodeLife, atNs: VirtualNs): void {
    if (life.deadlineQueuedNs >= 0 && life.deadlineQueuedNs <= atNs) return;
    life.deadlineQueuedNs = atNs;
    this.host.schedule(atNs, node, 'deadline');
  }

  private wake(node: number, reason: Outcome['reason'], atNs: VirtualNs): void {
    const life = this.mutable(node);
    this.setStatus(node, 'runnable');
    life.reason = reason;
    const readyNs = Math.max(life.localNs, atNs, life.pausedUntilNs);
    life.localNs = readyNs + this.host.scheduling.delayNs(node, readyNs);
  }

  private exit(node: number, life: NodeLife, code: number): void {
    this.setStatus(node, 'exited');
    life.exitCode = code;
    this.endLife(node);
    this.host.events.append(this.kinds.exit, node, life.localNs, 0, code);
    this.host.notes.add({ atNs: life.localNs, node, kind: 'exit', text: `exit ${code}` });
    this.host.checker.exit(node, code, life.localNs);
  }

  private trap(node: number, life: NodeLife, code: string, message: string): void {
    const { events, notes, checker } = this.host;
    this.setStatus(node, 'trapped');
    this.endLife(node);
    events.append(this.kinds.trap, node, life.localNs, digest32(encodeUtf8(code)), 0);
    notes.add({ atNs: life.localNs, node, kind: 'trap', text: `${code}: ${message}` });
    checker.trap(node, code, message, life.localNs);
  }

  /** The guest is gone of itself: its operating system closes its sockets and files. */
  private endLife(node: number): void {
    const { localNs } = this.life(node);
    this.host.consoles.close(node, localNs);
    const { network } = this.host;
    network.stack(node).closeAll(localNs);
    // A machine that is off has no card that is on.
    if (network.isMachine(node)) network.setUp(node, false);
    this.files(node).releaseAll();
    this.host.push({ kind: 'stop', node });
  }
}

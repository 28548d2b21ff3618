import { assert } from '../kernel/assert.ts';
import { encodeCanonical } from '../kernel/canonical.ts';
import type { Effect, Guest, GuestImage, Outcome } from '../kernel/guest.ts';
import { RollingDigest } from '../kernel/rolling-digest.ts';
import { NS_PER_MS, VIRTUAL_NS_MAX, type VirtualNs } from '../kernel/units.ts';
import { decodeUtf8, encodeUtf8 } from '../kernel/utf8.ts';
import { CallClient, timeoutOfMs, type CallClientState } from '../record/call-client.ts';
import { appendText, readText, writeText } from './model-files.ts';
import type { GuestPort } from '../world/port.ts';

/** What a model's program gives when it goes on: something it asks for, or its end. */
export type ModelStep =
  | { readonly kind: 'asks'; readonly request: unknown }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'broken'; readonly message: string };

/** A program that runs between what it asks for: a generator in a realm without a host. */
export interface ModelProgram {
  start(input: unknown): ModelStep;
  next(input: unknown): ModelStep;
}

const IMAGE_KIND = 'model';
const IMAGE_VERSION = 1;
/** What a request takes, so that a model that only asks comes to an end. */
const REQUEST_NS: VirtualNs = 1_000;
/** A model may ask so often: all answers are kept, to make it again from a checkpoint. */
export const MODEL_REQUESTS_MAX = 100_000;

type Step = 'fresh' | 'wait' | 'call' | 'ready' | 'over';

interface ModelState {
  readonly step: Step;
  readonly untilNs: VirtualNs;
  /** The request that runs, and all answers so far: texts of JSON. */
  readonly request: string;
  readonly answers: readonly string[];
  readonly client: CallClientState;
}

/**
 * A guest of kind `model`: a generator function of TypeScript or JavaScript. It yields what it
 * wants and gets the answer: `call`, `sleep`, `log`, `event`, `now`, `random`, `read`, `write`,
 * `append`. It is saved as the answers that it got, and made again from them.
 */
export class ModelGuest implements Guest {
  readonly instructions = 0;
  private readonly port: GuestPort;
  private readonly makeProgram: () => ModelProgram;
  private readonly client: CallClient;
  private program: ModelProgram | null = null;
  private step: Step = 'fresh';
  private untilNs: VirtualNs = 0;
  private request = '';
  private answers: string[] = [];

  constructor(makeProgram: () => ModelProgram, port: GuestPort) {
    this.makeProgram = makeProgram;
    this.port = port;
    this.client = new CallClient(port);
  }

  resume(outcome: Outcome): Effect {
    const { port } = this;
    assert(this.step !== 'over', 'a model that is over is not resumed');
    port.nowNs = outcome.atNs;
    port.observedNs = outcome.atNs;
    if (this.step === 'fresh') {
      const ended = this.take(this.begin());
      if (ended !== null) return ended;
    }
    for (;;) {
      if (port.nowNs >= port.horizonNs) return { kind: 'preempted', atNs: port.nowNs };
      port.observedNs = port.nowNs;
      const effect = this.advance();
      if (effect !== null) return effect;
    }
  }

  capture(): GuestImage {
    const { step, untilNs, request, answers } = this;
    const client = this.client.capture();
    const state: ModelState = { step, untilNs, request, answers: answers.slice(), client };
    return { kind: IMAGE_KIND, version: IMAGE_VERSION, pages: new Map(), state };
  }

  restore(image: GuestImage): void {
    assert(image.kind === IMAGE_KIND && image.version === IMAGE_VERSION, 'an image of this kind');
    const { step, untilNs, request, answers, client } = image.state as ModelState;
    this.step = step;
    this.untilNs = untilNs;
    this.request = request;
    this.answers = answers.slice();
    this.client.restore(client);
    this.program = null;
    if (step === 'fresh' || step === 'over') return;
    const program = this.makeProgram();
    program.start(this.input());
    for (const answer of answers) program.next(JSON.parse(answer));
    this.program = program;
  }

  digest(): string {
    const digest = new RollingDigest();
    digest.update(encodeCanonical(this.capture().state));
    return digest.hex();
  }

  dispose(): void {
    this.program = null;
  }

  private begin(): ModelStep {
    this.program = this.makeProgram();
    return this.program.start(this.input());
  }

  private input(): unknown {
    const { name, args, env } = this.port;
    return { name, args: args.slice(1), env: Object.fromEntries(env) };
  }

  /** Does the next thing; null to go on at once. */
  private advance(): Effect | null {
    const { port } = this;
    if (this.step === 'wait' && port.nowNs < this.untilNs) {
      return {
        kind: 'wait',
        atNs: port.nowNs,
        wait: { deadlineNs: this.untilNs, interests: [] },
      };
    }
    if (this.step === 'wait') return this.answer(null);
    if (this.step === 'ready') return this.begins(JSON.parse(this.request));
    const polled = this.client.poll();
    if ('wait' in polled) return { kind: 'wait', atNs: port.nowNs, wait: polled.wait };
    const { status, retryAfterMs, body } = polled.answer;
    return this.answer({ status, retry_after_ms: retryAfterMs, body: decodeUtf8(body) });
  }

  /** Begins what the program asked for. */
  private begins(request: unknown): Effect | null {
    const { port } = this;
    const fields = isObject(request) ? request : {};
    switch (fields['do']) {
      case 'call':
        this.client.begin({
          target: String(fields['target']),
          body: encodeUtf8(JSON.stringify(fields['args'] ?? {})),
          timeoutNs: timeoutOfMs(fields['timeout_ms']),
          call: typeof fields['call'] === 'number' ? fields['call'] : 0,
        });
        this.step = 'call';
        return null;
      case 'sleep': {
        const ms = Number(fields['ms'] ?? 0);
        this.untilNs = Math.min(
          port.nowNs + Math.max(0, Math.floor(ms)) * NS_PER_MS,
          VIRTUAL_NS_MAX,
        );
        this.step = 'wait';
        return null;
      }
      case 'log':
        port.console(1, encodeUtf8(`${String(fields['text'])}\n`));
        return this.answer(null);
      case 'event': {
        const { name, details } = fields;
        port.marker(encodeUtf8(JSON.stringify({ kind: 'log', name: String(name), details })));
        return this.answer(null);
      }
      case 'now':
        return this.answer(Number(port.realtimeNs() / 1_000_000n));
      case 'random':
        return this.answer(this.random(Number(fields['below'])));
      case 'read':
        return this.answer(readText(port, String(fields['path'])));
      case 'write':
        return this.answer(writeText(port, String(fields['path']), String(fields['text'])));
      case 'append':
        return this.answer(appendText(port, String(fields['path']), String(fields['text'])));
      default:
        return this.trap(
          'model-request',
          `a model asks for ${JSON.stringify(request) ?? 'nothing'}`,
        );
    }
  }

  private random(below: number): number {
    const stream = this.port.decisions.stream(`node/${this.port.name}/random`);
    const arity = Number.isSafeInteger(below) && below >= 1 ? below : 1;
    return this.port.decisions.decide(stream, this.port.nowNs, arity);
  }

  private answer(value: unknown): Effect | null {
    const { program, port } = this;
    assert(program !== null, 'a model that runs has a program');
    if (this.answers.length >= MODEL_REQUESTS_MAX) {
      return this.trap('model-requests', `a model asked more than ${MODEL_REQUESTS_MAX} times`);
    }
    const text = JSON.stringify(value);
    this.answers.push(text);
    port.nowNs += REQUEST_NS;
    return this.take(program.next(JSON.parse(text)));
  }

  private take(step: ModelStep): Effect | null {
    switch (step.kind) {
      case 'asks':
        this.step = 'ready';
        this.request = JSON.stringify(step.request) ?? 'null';
        return null;
      case 'broken':
        return this.trap('model', step.message);
      case 'done': {
        this.step = 'over';
        const code = typeof step.value === 'number' ? step.value & 255 : 0;
        return { kind: 'exit', atNs: this.port.nowNs, code };
      }
    }
  }

  private trap(code: string, message: string): Effect {
    this.step = 'over';
    return { kind: 'trap', atNs: this.port.nowNs, code, message };
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

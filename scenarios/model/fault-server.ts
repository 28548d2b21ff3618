/** What the realm lends the server: its own sockets, clock and texts. */
export interface FaultServerTools {
  readonly listen: (port: number) => { accept(): Promise<RealmConnection> };
  readonly connect: (host: string, port: number) => Promise<RealmConnection>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly bytesOf: (binary: string) => Uint8Array;
  readonly latin1: (data: string | Uint8Array) => string;
  readonly utf8: (text: string) => string;
  readonly toJson: (value: unknown) => string;
}

interface RealmConnection {
  send(data: Uint8Array): Promise<void>;
  receive(): Promise<Uint8Array | null>;
  close(): void;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly delayMs: number;
  readonly reset: boolean;
  readonly repeat: number;
  readonly forward: boolean;
}

interface Script {
  readonly port: number;
  readonly upstream: string | null;
  readonly fallback: Answer;
  readonly queues: ReadonlyMap<string, readonly Answer[]>;
}

interface Message {
  readonly head: string;
  readonly body: string;
}

interface LogEntry {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  did: 'answered' | 'forwarded' | 'reset';
  status: number | null;
}

/**
 * A server of HTTP that answers by a script (KS-44). The realm of bodies evaluates the text of this very class, so it
 * refers to nothing but what stands in it.
 */
export class FaultServer {
  private readonly tools: FaultServerTools;
  private readonly script: Script;
  private readonly served = new Map<string, number>();
  private readonly log: LogEntry[] = [];

  constructor(tools: FaultServerTools, script: Script) {
    this.tools = tools;
    this.script = script;
  }

  /** Reads a script. Throws a TypeError with the place of what is wrong. */
  static read(options: object): Script {
    const {
      port,
      upstream = null,
      default: other,
      paths = {},
      ...rest
    } = options as Record<string, unknown>;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) {
      this.refuse(`unknown key "${unknown}"; there are port, upstream, default, paths`);
    }
    if (!this.isWhole(port, 1, 65_535)) this.refuse('port is no port');
    if (upstream !== null && (typeof upstream !== 'string' || !/^[^:/]+:\d+$/.test(upstream))) {
      return this.refuse('upstream is not "host:port"');
    }
    const plain = upstream === null ? { status: 404 } : { forward: true };
    const fallback = this.readAnswer(other ?? plain, 'default', upstream);
    const queues = new Map(
      Object.entries(paths as object).map(([path, answers]: [string, unknown]) => {
        const place = `paths["${path}"]`;
        if (!Array.isArray(answers)) return this.refuse(`${place} is no list`);
        const read = answers.map((answer, index) =>
          this.readAnswer(answer, `${place}[${index}]`, upstream),
        );
        return [path, read];
      }),
    );
    return { port: Number(port), upstream, fallback, queues };
  }

  /** Serves for ever. */
  async run(): Promise<void> {
    const server = this.tools.listen(this.script.port);
    for (;;) {
      const connection = await server.accept();
      // A client that leaves is its own affair.
      void this.serve(connection)
        .catch(() => undefined)
        .then(() => {
          connection.close();
        });
    }
  }

  private static refuse(message: string): never {
    throw new TypeError(`faultServer(): ${message}`);
  }

  private static isWhole(value: unknown, least: number, most: number): boolean {
    return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  }

  /** One answer of the script. */
  private static readAnswer(answer: unknown, place: string, upstream: string | null): Answer {
    const keys = ['status', 'body', 'headers', 'delay_ms', 'reset', 'repeat', 'forward'];
    if (typeof answer !== 'object' || answer === null) return this.refuse(`${place} is no answer`);
    for (const key of Object.keys(answer)) {
      if (keys.includes(key)) continue;
      this.refuse(`${place} has an unknown key "${key}"; there are ${keys.join(', ')}`);
    }
    const {
      status = 200,
      repeat = 1,
      delay_ms: delayMs = 0,
      ...rest
    } = answer as Record<string, unknown>;
    const { body = '', headers = {}, reset = false, forward = false } = rest as Partial<Answer>;
    if (!this.isWhole(status, 100, 599)) this.refuse(`${place}.status is no status`);
    if (!this.isWhole(repeat, 1, Number.MAX_SAFE_INTEGER)) {
      this.refuse(`${place}.repeat is no number from 1 on`);
    }
    if (typeof delayMs !== 'number' || !(delayMs >= 0)) {
      return this.refuse(`${place}.delay_ms is no time`);
    }
    if (forward && upstream === null) this.refuse(`${place} forwards, and there is no upstream`);
    const numbers = { status: Number(status), repeat: Number(repeat), delayMs };
    return { ...numbers, body, headers, reset, forward };
  }

  private async serve(connection: RealmConnection): Promise<void> {
    const request = await this.readMessage(connection, false);
    if (request === null) return;
    const [method = '', target = '/'] = request.head.split(' ');
    const [path = ''] = target.split('?');
    if (path === '/__faults/log') return this.respond(connection, 200, this.log);
    if (path === '/__faults/reset') {
      this.served.clear();
      this.log.length = 0;
      return this.respond(connection, 200, 'reset');
    }
    const answer = this.answerOf(path);
    const { status, body, headers } = answer;
    const entry: LogEntry = { method, path: target, body: request.body, did: 'answered', status };
    this.log.push(entry);
    if (answer.delayMs > 0) await this.tools.sleep(answer.delayMs);
    if (answer.reset) Object.assign(entry, { did: 'reset', status: null });
    else if (answer.forward) {
      Object.assign(entry, { did: 'forwarded', status: null });
      entry.status = await this.forward(connection, request).catch(() => 502);
      if (entry.status === 502) await this.respond(connection, 502, '');
    } else await this.respond(connection, status, body, headers);
  }

  /** The next answer of a path's queue. */
  private answerOf(path: string): Answer {
    let count = this.served.get(path) ?? 0;
    this.served.set(path, count + 1);
    for (const answer of this.script.queues.get(path) ?? []) {
      if (count < answer.repeat) return answer;
      count -= answer.repeat;
    }
    return this.script.fallback;
  }

  /** Hands a request to the upstream, and its answer back; its status, 502 for none. */
  private async forward(connection: RealmConnection, { head, body }: Message): Promise<number> {
    const { connect, bytesOf } = this.tools;
    const [host = '', number] = (this.script.upstream ?? '').split(':');
    const behind = await connect(host, Number(number));
    await behind.send(bytesOf(`${head}\r\n\r\n${body}`));
    const answer = await this.readMessage(behind, true);
    behind.close();
    if (answer === null) return 502;
    await connection.send(bytesOf(`${answer.head}\r\n\r\n${answer.body}`));
    return Number(answer.head.split(' ')[1]);
  }

  private async respond(
    connection: RealmConnection,
    status: number,
    body: unknown,
    headers: Answer['headers'] = {},
  ): Promise<void> {
    const { bytesOf, utf8, toJson } = this.tools;
    const content = utf8(typeof body === 'string' ? body : toJson(body));
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    const length = String(content.length);
    const all = { 'content-type': type, ...headers, 'content-length': length, connection: 'close' };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const reason = status < 300 ? 'OK' : 'Error';
    await connection.send(
      bytesOf(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${content}`),
    );
  }

  /** A whole message of at most 16 MiB: what stands before its body, and that; null at an early end. */
  private async readMessage(
    connection: RealmConnection,
    untilEnd: boolean,
  ): Promise<Message | null> {
    let text = '';
    while (text.length <= 16 * 1024 * 1024) {
      const split = text.indexOf('\r\n\r\n');
      const head = text.slice(0, Math.max(0, split));
      const body = text.slice(split + 4);
      if (split >= 0) {
        const length = /\r\ncontent-length: *(\d+)/i.exec(head);
        if (length !== null && body.length >= Number(length[1])) {
          return { head, body: body.slice(0, Number(length[1])) };
        }
        if (length === null && !untilEnd) return { head, body: '' };
      }
      const piece = await connection.receive();
      if (piece === null) return untilEnd && split >= 0 ? { head, body } : null;
      text += this.tools.latin1(piece);
    }
    return null;
  }
}

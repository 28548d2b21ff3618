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
 * A server of HTTP that answers by a script (KS-44). The realm of bodies evaluates the text of this very function,
 * so it refers to nothing but what stands in it.
 */
export function makeFaultServer(tools: FaultServerTools): (options: object) => () => Promise<void> {
  const { listen, connect, sleep, bytesOf, latin1, utf8, toJson } = tools;

  const LOG_PATH = '/__faults/log';
  const RESET_PATH = '/__faults/reset';
  const ANSWER_KEYS = ['status', 'body', 'headers', 'delay_ms', 'reset', 'repeat', 'forward'];
  const REASONS: Readonly<Record<number, string>> = {
    200: 'OK',
    404: 'Not Found',
    500: 'Internal Server Error',
  };
  /** A request is at most this long. */
  const REQUEST_LENGTH_MAX = 16 * 1024 * 1024;

  const refuse = (message: string): never => {
    throw new TypeError(`faultServer(): ${message}`);
  };

  const isWhole = (value: unknown, least: number, most: number): boolean => {
    return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  };

  /** One answer of the script, or how it is none. */
  function readAnswer(answer: unknown, place: string, upstream: string | null): Answer {
    if (typeof answer !== 'object' || answer === null) return refuse(`${place} is no answer`);
    for (const key of Object.keys(answer)) {
      if (!ANSWER_KEYS.includes(key))
        refuse(`${place} has an unknown key "${key}"; there are ${ANSWER_KEYS.join(', ')}`);
    }
    const {
      status = 200,
      repeat = 1,
      delay_ms: delayMs = 0,
      ...rest
    } = answer as Record<string, unknown>;
    const { body = '', headers = {}, reset = false, forward = false } = rest as Partial<Answer>;
    if (!isWhole(status, 100, 599)) refuse(`${place}.status is no status`);
    if (!isWhole(repeat, 1, Number.MAX_SAFE_INTEGER))
      refuse(`${place}.repeat is no number from 1 on`);
    if (typeof delayMs !== 'number' || !(delayMs >= 0))
      return refuse(`${place}.delay_ms is no time`);
    if (forward && upstream === null) refuse(`${place} forwards, and there is no upstream`);
    const numbers = { status: Number(status), repeat: Number(repeat), delayMs };
    return { ...numbers, body, headers, reset, forward };
  }

  function readScript(options: object): Script {
    const {
      port,
      upstream = null,
      default: other,
      paths = {},
      ...rest
    } = options as Record<string, unknown>;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined)
      refuse(`unknown key "${unknown}"; there are port, upstream, default, paths`);
    if (!isWhole(port, 1, 65_535)) refuse('port is no port');
    if (upstream !== null && (typeof upstream !== 'string' || !/^[^:/]+:\d+$/.test(upstream))) {
      return refuse('upstream is not "host:port"');
    }
    const fallback =
      other === undefined
        ? readAnswer(upstream === null ? { status: 404 } : { forward: true }, 'default', upstream)
        : readAnswer(other, 'default', upstream);
    const queues = new Map(
      Object.entries(paths as object).map(([path, answers]: [string, unknown]) => {
        if (!Array.isArray(answers)) return refuse(`paths["${path}"] is no list`);
        return [
          path,
          answers.map((answer, index) =>
            readAnswer(answer, `paths["${path}"][${index}]`, upstream),
          ),
        ];
      }),
    );
    return { port: Number(port), upstream, fallback, queues };
  }

  /** A whole message: what stands before its body, and the body as its headers say; null at an early end. */
  async function readMessage(
    connection: RealmConnection,
    untilEnd: boolean,
  ): Promise<Message | null> {
    let text = '';
    for (;;) {
      const split = text.indexOf('\r\n\r\n');
      if (split >= 0) {
        const head = text.slice(0, split);
        const length = /\r\ncontent-length: *(\d+)/i.exec(head);
        const body = text.slice(split + 4);
        if (length !== null && body.length >= Number(length[1])) {
          return { head, body: body.slice(0, Number(length[1])) };
        }
        if (length === null && !untilEnd) return { head, body: '' };
      }
      if (text.length > REQUEST_LENGTH_MAX) return null;
      const piece = await connection.receive();
      if (piece === null) {
        return untilEnd && split >= 0
          ? { head: text.slice(0, split), body: text.slice(split + 4) }
          : null;
      }
      text += latin1(piece);
    }
  }

  const respond = async (
    connection: RealmConnection,
    { status, body, headers }: Pick<Answer, 'status' | 'body' | 'headers'>,
  ): Promise<void> => {
    const content = typeof body === 'string' ? utf8(body) : utf8(toJson(body));
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    const all = {
      'content-type': type,
      ...headers,
      'content-length': content.length,
      connection: 'close',
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    const first = `HTTP/1.1 ${status} ${REASONS[status] ?? 'Status'}\r\n`;
    await connection.send(bytesOf(`${first}${lines.join('')}\r\n${content}`));
  };

  return (options) => {
    const { port, upstream, fallback, queues } = readScript(options);
    return async () => {
      const server = listen(port);
      const served = new Map<string, number>();
      const log: LogEntry[] = [];
      const answerOf = (path: string): Answer => {
        let count = served.get(path) ?? 0;
        served.set(path, count + 1);
        for (const answer of queues.get(path) ?? []) {
          if (count < answer.repeat) return answer;
          count -= answer.repeat;
        }
        return fallback;
      };
      const forward = async (
        connection: RealmConnection,
        { head, body }: Message,
      ): Promise<number> => {
        const [host = '', number] = (upstream ?? '').split(':');
        const behind = await connect(host, Number(number));
        await behind.send(bytesOf(`${head}\r\n\r\n${body}`));
        const answer = await readMessage(behind, true);
        behind.close();
        if (answer === null) return 502;
        await connection.send(bytesOf(`${answer.head}\r\n\r\n${answer.body}`));
        return Number(answer.head.split(' ')[1]);
      };
      const control = async (connection: RealmConnection, path: string): Promise<void> => {
        if (path === LOG_PATH) return respond(connection, { status: 200, body: log, headers: {} });
        served.clear();
        log.length = 0;
        return respond(connection, { status: 200, body: 'reset', headers: {} });
      };
      const serve = async (connection: RealmConnection): Promise<void> => {
        const request = await readMessage(connection, false);
        if (request === null) return;
        const [method = '', target = '/'] = request.head.split(' ');
        const [path = ''] = target.split('?');
        if (path === LOG_PATH || path === RESET_PATH) {
          await control(connection, path);
          return;
        }
        const answer = answerOf(path);
        const { status } = answer;
        const entry: LogEntry = {
          method,
          path: target,
          body: request.body,
          did: 'answered',
          status,
        };
        log.push(entry);
        if (answer.delayMs > 0) await sleep(answer.delayMs);
        if (answer.reset) Object.assign(entry, { did: 'reset', status: null });
        else if (answer.forward) {
          Object.assign(entry, { did: 'forwarded', status: null });
          entry.status = await forward(connection, request).catch(() => 502);
          if (entry.status === 502)
            await respond(connection, { status: 502, body: '', headers: {} });
        } else await respond(connection, answer);
      };
      for (;;) {
        const connection = await server.accept();
        // A client that leaves is its own affair.
        void serve(connection)
          .catch(() => undefined)
          .then(() => {
            connection.close();
          });
      }
    };
  };
}

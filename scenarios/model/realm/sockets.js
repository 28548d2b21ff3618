// TCP and HTTP/1.1 on the simulated network.
(realm, { latin1, utf8, bytesOf, textOf }) => {
  const { call, isOrdered } = realm;
  /** No call moves more at once. */
  const PIECE_BYTES_MAX = 65_536;

  const until = (socket, readiness) => {
    const { waiters, branch } = realm.current;
    return new Promise((resolve) => waiters.push({ socket, readiness, resolve, branch }));
  };

  class Connection {
    #socket;
    constructor(socket) {
      this.#socket = socket;
    }
    async send(data) {
      const all = latin1(data);
      for (let sent = 0; sent < all.length;) {
        const taken = call('send', this.#socket, all.slice(sent, sent + PIECE_BYTES_MAX));
        if (taken > 0) sent += taken;
        else await until(this.#socket, 'write');
      }
    }
    /** The next bytes that came, or null at the end of the stream. */
    async receive() {
      for (;;) {
        const found = call('receive', this.#socket);
        if (found === null) await until(this.#socket, 'read');
        else return found === '' ? null : bytesOf(found);
      }
    }
    /** The next bytes as text, or null at the end of the stream. */
    async receiveText() {
      const bytes = await this.receive();
      return bytes === null ? null : textOf(latin1(bytes));
    }
    close() {
      call('close', this.#socket);
    }
  }

  async function connect(host, port) {
    const name = typeof host === 'object' ? host.name : String(host);
    const socket = call('connect', name, Number(port));
    while (!call('connected', socket)) await until(socket, 'write');
    return new Connection(socket);
  }

  function listen(port) {
    const socket = call('listen', Number(port), isOrdered());
    return {
      async accept() {
        for (;;) {
          const found = call('accept', socket);
          if (found !== null) return new Connection(found);
          await until(socket, 'read');
        }
      },
      close: () => call('close', socket),
    };
  }

  /** HTTP/1.1 with one connection a request: what a body needs to talk to a service. */
  async function fetchHttp(url, { method = 'GET', headers = {}, body = '' } = {}) {
    const match = /^http:\/\/([^:/]+)(?::(\d+))?(\/[^#]*)?$/.exec(url);
    if (match === null) throw new TypeError(`fetch() knows http://host:port/path, not ${url}`);
    const [, host, port = '80', path = '/'] = match;
    const content = typeof body === 'string' ? utf8(body) : latin1(body);
    const lines = Object.entries({
      host: `${host}:${port}`,
      connection: 'close',
      'content-length': String(content.length),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    const connection = await connect(host, Number(port));
    await connection.send(bytesOf(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`));
    let text = '';
    for (;;) {
      const piece = await connection.receive();
      if (piece === null) break;
      text += latin1(piece);
      const whole = readResponse(text, false);
      if (whole !== null) {
        connection.close();
        return whole;
      }
    }
    connection.close();
    const response = readResponse(text, true);
    if (response === null) throw new Error(`the connection to ${host}:${port} ended in mid-answer`);
    return response;
  }

  function readResponse(text, ended) {
    const split = text.indexOf('\r\n\r\n');
    if (split < 0) return null;
    const [first, ...rest] = text.slice(0, split).split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? NaN);
    if (Number.isNaN(status)) throw new Error(`not an answer of HTTP: ${first.slice(0, 60)}`);
    const headers = Object.fromEntries(
      rest.map((line) => {
        const at = line.indexOf(':');
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
      }),
    );
    const length = headers['content-length'];
    let body = text.slice(split + 4);
    if (length !== undefined) {
      if (body.length < Number(length)) return null;
      body = body.slice(0, Number(length));
    } else if (!ended) return null;
    return {
      status,
      ok: status >= 200 && status < 300,
      headers,
      bytes: async () => bytesOf(body),
      text: async () => textOf(body),
      json: async () => JSON.parse(textOf(body)),
    };
  }

  return { Connection, connect, listen, fetchHttp };
};

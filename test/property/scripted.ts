import { loadScenarioText } from '../../scenarios/index.ts';
import {
  encodeUtf8,
  NS_PER_MS,
  ROOT,
  type Effect,
  type GuestPort,
  type PropertyDef,
} from '../../sim/index.ts';
import { MemoryFiles } from '../scenarios/memory-files.ts';
import { SmallWorld, type SmallOptions } from '../support/small-world.ts';
import { StateGuest } from '../support/state-guest.ts';

/** What a node does at a time, in milliseconds. */
export type Act = readonly [
  atMs: number,
  what: 'say' | 'mark' | 'send' | 'write' | 'read' | 'sync' | 'exit' | 'trap',
  value?: string,
];

const PORT = 9000;

/** The nodes of a scripted world. */
export const NODES = ['a', 'b'] as const;

interface State {
  place: number;
  socket: number;
}

/** Does what its script says from its start on, and then waits for ever. */
function scripted(port: GuestPort, acts: readonly Act[]): StateGuest<State> {
  return new StateGuest<State>({ place: -1, socket: -1 }, port, (state): Effect => {
    const { nowNs } = port;
    if (state.place < 0) {
      state.place = acts.findIndex(([atMs]) => atMs * NS_PER_MS >= nowNs);
      if (state.place < 0) state.place = acts.length;
      state.socket = port.sockets.open('udp');
      port.sockets.bind(state.socket, 0, PORT);
    }
    for (;;) {
      const act = acts[state.place];
      const deadlineNs = act === undefined ? null : act[0] * NS_PER_MS;
      if (act === undefined || (deadlineNs as number) > nowNs) {
        return { kind: 'wait', atNs: nowNs, wait: { deadlineNs, interests: [] } };
      }
      state.place++;
      const [, what, value = ''] = act;
      if (what === 'exit') return { kind: 'exit', atNs: nowNs, code: Number(value) };
      if (what === 'trap') return { kind: 'trap', atNs: nowNs, code: value, message: 'oh' };
      perform(port, what, value, state.socket);
    }
  });
}

function perform(port: GuestPort, what: Act[1], value: string, socket: number): void {
  const { files, sockets } = port;
  const bytes = encodeUtf8(value);
  const file = (): number => {
    const found = files.lookup(ROOT, 'file');
    return found < 0 ? files.createFile(ROOT, 'file', 0n) : found;
  };
  switch (what) {
    case 'say':
      return port.console(1, encodeUtf8(`${value}\n`));
    case 'mark':
      return port.marker(bytes);
    case 'send': {
      const [to = '', text = ''] = value.split(' ');
      sockets.sendTo(socket, encodeUtf8(text), sockets.resolve(to)[0] as number, PORT);
      return;
    }
    case 'write':
      files.write(file(), 0, bytes, 0n);
      return;
    case 'read':
      files.read(file(), 0, new Uint8Array(4));
      return;
    case 'sync':
      files.synchronise(file(), false);
      return;
    default:
      return;
  }
}

/** The properties of a scenario of two nodes, `a` and `b`. */
export function properties(toml: string, until = 'quiescence'): readonly PropertyDef[] {
  const head = `schema_version = 1\nname = "x"\nuntil = "${until}"\n`;
  const nodes = '[guest.g]\nwasm = "g.wasm"\n[[node]]\nnames = ["a", "b"]\nguest = "g"\n';
  const result = loadScenarioText(head + nodes + toml, 'x.toml', new MemoryFiles());
  if (!result.ok) throw result.errors[0] as Error;
  return result.scenario.def.properties;
}

/** A world of two nodes that do what their scripts say. */
export function scriptedWorld(
  scripts: Readonly<Partial<Record<(typeof NODES)[number], readonly Act[]>>>,
  options: Partial<SmallOptions> & { readonly toml: string },
): SmallWorld {
  const { toml, until, ...more } = options;
  return new SmallWorld({
    names: NODES,
    make: (port) => scripted(port, scripts[port.name as (typeof NODES)[number]] ?? []),
    properties: properties(toml, until),
    ...(until === undefined ? {} : { until }),
    ...more,
  });
}

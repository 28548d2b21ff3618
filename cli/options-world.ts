import type { CommandSpec } from './options.ts';

const WORLD = {
  name: 'world',
  required: true,
  completes: 'file',
  help: 'a world file, or one of bank, payments, shop',
} as const;

/** Commands about record worlds. */
export const WORLD_COMMANDS = {
  'world check': {
    summary: 'check a world file and its handlers',
    arguments: [WORLD],
    options: {},
    examples: ['sim world check shop.yaml'],
  },
  'world serve': {
    summary: 'serve a record world to clients: MCP on the standard streams, or HTTP',
    arguments: [WORLD],
    options: {
      http: { kind: 'flag', help: 'serve over HTTP, with MCP at /mcp' },
      host: { kind: 'text', value: 'address', help: 'where to listen (127.0.0.1)' },
      port: { kind: 'integer', value: 'n', help: 'the port to listen on (0: a free one)' },
      faults: {
        kind: 'text',
        value: 'profile',
        help: 'what goes wrong: a profile file, or "world" for that of the world file (nothing)',
      },
      runIndex: { kind: 'integer', value: 'n', help: 'which run: other faults for each (0)' },
      step: { kind: 'span', value: 'span', help: 'how far the clock goes with each call (0ns)' },
      stateFile: { kind: 'path', value: 'file', help: 'keep the state there, after every attempt' },
    },
    examples: [
      'sim world serve shop.yaml',
      'sim world serve shop.yaml --faults world --run-index 3 --state-file state.json',
      'sim world serve bank --http --port 8080',
    ],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;

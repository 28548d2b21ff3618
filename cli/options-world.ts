import type { CommandSpec } from './options.ts';

const WORLD = {
  name: 'world',
  required: true,
  completes: 'file',
  help: 'a world file, or one of bank, payments, shop',
} as const;

/** Commands about record worlds, and about driving one target under a plan. */
export const WORLD_COMMANDS = {
  drive: {
    summary: 'drive one target under a plan of injected failures and crashes, and grade it',
    arguments: [{ name: 'plan', required: true, completes: 'file', help: 'a plan file (JSON)' }],
    options: {
      strict: { kind: 'flag', help: 'refuse unknown fields of the plan' },
      maxVirtualTime: { kind: 'span', value: 'span', help: 'the budget of virtual time (1 h)' },
      out: { kind: 'path', value: 'file', help: 'where the bundle goes' },
    },
    examples: ['sim drive checkout.json', 'sim drive checkout.json --format json'],
  },
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

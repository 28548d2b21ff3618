import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  FAULT_MESSAGES,
  MALFORMED_JSON,
  parametersOf,
  toolSchema,
  type CallOutcome,
} from '../../sim/index.ts';
import type { ServedWorld } from './served-world.ts';

/**
 * The operations of a world as tools of the Model Context Protocol. Clients see tools and nothing
 * else: not that there are faults, nor that the service is a fake (FH-20). `onCrash` is told of an
 * operation that broke, which no client can mend.
 */
export function makeMcpServer(world: ServedWorld, onCrash: (error: unknown) => void): McpServer {
  const { def } = world.service.world;
  const mcp = new McpServer({ name: def.name, version: '1.0.0' }, { capabilities: { tools: {} } });
  // Below its tools of zod schemas: ours are JSON schemas already.
  const { server } = mcp;
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: def.operations.map((operation) => ({
      name: operation.name,
      description: operation.description,
      inputSchema: { ...toolSchema(parametersOf(def, operation)) },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    try {
      return toolResult(world.call(params.name, params.arguments ?? {}));
    } catch (error) {
      onCrash(error);
      throw error;
    }
  });
  return mcp;
}

interface ToolResult {
  readonly [key: string]: unknown;
  readonly content: { type: 'text'; text: string }[];
  readonly isError?: boolean;
}

function toolResult(outcome: CallOutcome): ToolResult {
  switch (outcome.kind) {
    case 'result':
      return said(JSON.stringify(outcome.value));
    case 'refusal':
      return { ...said(outcome.message), isError: true };
    case 'fault':
      break;
  }
  const { fault, retryAfterSeconds, empty } = outcome;
  if (fault === 'empty_result') return said(JSON.stringify(empty));
  if (fault === 'malformed_json') return said(MALFORMED_JSON);
  const later = retryAfterSeconds > 0 ? `; retry after ${retryAfterSeconds} s` : '';
  return { ...said(FAULT_MESSAGES[fault] + later), isError: true };
}

function said(text: string): ToolResult {
  return { content: [{ type: 'text', text }] };
}

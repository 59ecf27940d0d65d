import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { INHERITED } from './inherited.ts';
import { CLI, NODE } from './programs.ts';

/** What a tool returned. `text` is its first text, and `texts` are all of them. */
type McpResult = {
  isError: boolean;
  text: string;
  texts: string[];
  structured: Record<string, unknown> | undefined;
};

export type McpClient = AsyncDisposable & {
  client: Client;
  call(name: string, args?: Record<string, unknown>): Promise<McpResult>;
  /** The questions that the server asked. */
  questions: string[];
};

/**
 * Starts `tollgate mcp`, and connects to it with the protocol's own client, which checks results against the tools'
 * output schemas.
 *
 * @param reply the user's reply to questions, or what the user does before they confirm. Without it, the client can't ask.
 * @param program the command line, from the source by default
 */
export async function openMcp(
  env: Record<string, string>,
  reply?: 'confirm' | 'refuse' | 'close' | (() => Promise<'confirm'>),
  program = CLI,
): Promise<McpClient> {
  const questions: string[] = [];
  const transport = new StdioClientTransport({
    command: NODE,
    args: [program, 'mcp'],
    env: { ...INHERITED, ...env },
    stderr: 'pipe',
  });
  const stderr = text(transport.stderr! as never);
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: reply === undefined ? {} : { elicitation: {} } },
  );
  if (reply !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      questions.push(params.message);
      const given = typeof reply === 'function' ? await reply() : reply;
      return given === 'close' ? { action: 'cancel' } : { action: 'accept', content: { confirm: given === 'confirm' } };
    });
  }
  try {
    await client.connect(transport);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await stderr}`);
  }
  // The client checks results only of tools that it has listed.
  await client.listTools();
  return {
    client,
    questions,
    async call(name, args = {}) {
      const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
      const texts = result.content.flatMap((each) => (each.type === 'text' ? [each.text] : []));
      return { isError: result.isError === true, text: texts[0] ?? '', texts, structured: result.structuredContent };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

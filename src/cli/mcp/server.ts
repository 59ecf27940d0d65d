import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { Tollgate, TollgateError } from '../../../packages/sdk/src/index.ts';
import { VERSION } from '../../version.ts';
import { Failure } from '../failure.ts';
import { requestAs } from '../http.ts';
import { createServiceClient } from '../service-client.ts';
import { type Confirmations, createConfirmations } from './confirmations.ts';
import { id, loggedArguments } from './inputs.ts';
import { CAUTION } from './outside-text.ts';
import { type Granted, isGranted } from './permissions.ts';
import { type Reply, type Tool, ToolRefusal } from './tool.ts';
import { TOOLS } from './tools.ts';

const INSTRUCTIONS = `Tools for a Tollgate project: paid API endpoints, payments, revenue, and deliveries of events to webhooks and connectors. ${CAUTION}`;

/** A larger result would fill up the model's context. */
const MAX_RESULT_CHARACTERS = 60_000;
/** How long a person may take to reply to a question. */
const CONFIRMATION_TIMEOUT_MILLISECONDS = 10 * 60_000;
/** A model can repeat a call itself, so calls don't wait long for a service that is down. */
const MAX_RETRIES = 1;

export type McpOptions = {
  /** The service. */
  url: string;
  /** An API key or a user's token. */
  credential: string;
  /** The project that tools apply to, unless a call names another one. */
  projectId: string;
  granted: Granted;
};

/** The MCP server. It has no access itself: each tool sends requests to the API with the given credential. */
export function createMcpServer(options: McpOptions): McpServer {
  const offered = TOOLS.filter((tool) => isGranted(tool, options.granted));
  const server = new McpServer(
    { name: 'tollgate', title: 'Tollgate', version: VERSION },
    { instructions: INSTRUCTIONS + missingTools(offered) },
  );
  const confirmations = createConfirmations();

  async function ask(question: string): Promise<Reply> {
    if (!server.server.getClientCapabilities()?.elicitation) return 'unsupported';
    const { action, content } = await server.server.elicitInput(
      {
        message: question,
        requestedSchema: {
          type: 'object',
          properties: { confirm: { type: 'boolean', title: 'Confirm', description: question } },
          required: ['confirm'],
        },
      },
      { timeout: CONFIRMATION_TIMEOUT_MILLISECONDS },
    );
    return action === 'accept' && content?.confirm === true ? 'confirmed' : 'declined';
  }

  for (const tool of offered) {
    const projectId = tool.isInProject && {
      projectId: id('proj').optional().describe('Default: the server’s project.'),
    };
    server.registerTool(
      tool.name,
      {
        title: tool.title,
        description: tool.description,
        inputSchema: z.strictObject({ ...tool.input, ...projectId }),
        outputSchema: tool.output,
        annotations: annotationsOf(tool),
      },
      (input: Record<string, unknown>) => callTool(tool, input, { ...options, confirmations, ask }),
    );
  }
  return server;
}

/** The message for a user who asks for something that the key or the role doesn't allow. */
function missingTools(offered: readonly Tool[]): string {
  const missing = TOOLS.filter((tool) => !offered.includes(tool)).map(({ name }) => name);
  if (missing.length === 0) return '';
  return ` The user's role or the API key's scopes do not allow these tools: ${missing.join(', ')}. An owner or admin of the project can change the role, or create a key with more scopes.`;
}

type CallOptions = McpOptions & { confirmations: Confirmations; ask(question: string): Promise<Reply> };

/** Records the call in the audit log before it runs the tool. If the call can't be recorded, the tool doesn't run. */
async function callTool(tool: Tool, input: Record<string, unknown>, options: CallOptions): Promise<CallToolResult> {
  const { url, credential, confirmations, ask } = options;
  const { projectId: named, ...rest } = input;
  const projectId = (named as string | undefined) ?? options.projectId;
  const tollgate = new Tollgate({
    baseUrl: url,
    token: credential,
    projectId,
    maxRetries: MAX_RETRIES,
    fetch: requestAs({ client: `mcp/${tool.name}`, userAgent: 'tollgate-mcp' }),
  });
  try {
    await tollgate.auditLog.recordToolCall({ tool: tool.name, arguments: loggedArguments(rest) });
    const client = createServiceClient({ url, credential });
    return resultOf(await tool.run(rest, { tollgate, client, projectId, confirmations, ask }));
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: sentenceOf(error) }] };
  }
}

function resultOf(structuredContent: Record<string, unknown>): CallToolResult {
  const text = JSON.stringify(structuredContent);
  if (text.length > MAX_RESULT_CHARACTERS) {
    throw new ToolRefusal('The result is too large. Ask for fewer items with `limit`, or for one item by its ID.');
  }
  const caution = text.includes('"untrustedText"') ? [{ type: 'text' as const, text: CAUTION }] : [];
  return { structuredContent, content: [{ type: 'text', text }, ...caution] };
}

/** The service's own message, including what is wrong with each argument. */
function sentenceOf(error: unknown): string {
  if (error instanceof Failure && error.code) return `${error.code}: ${error.message}`;
  if (!(error instanceof TollgateError)) return error instanceof Error ? error.message : String(error);
  const fields = error.errors.map(({ pointer, message }) => `\n${pointer}: ${message}`).join('');
  const id = error.requestId ? `\nRequest ${error.requestId}` : '';
  return `${error.code}: ${error.message}${ADVICE[error.code] ?? ''}${fields}${id}`;
}

/** Advice for the user about errors that would affect every call. */
const ADVICE: Readonly<Record<string, string>> = {
  UNAUTHENTICATED:
    ' No tools will work until the user sets TOLLGATE_API_KEY or TOLLGATE_TOKEN to a valid credential and restarts the MCP server.',
};

function annotationsOf({ title, effect }: Tool): ToolAnnotations {
  return {
    title,
    readOnlyHint: effect === 'none',
    destructiveHint: effect === 'replaces' || effect === 'sends',
    idempotentHint: effect === 'none' || effect === 'replaces',
    openWorldHint: effect === 'sends',
  };
}

import { once } from 'node:events';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { note } from '../output.ts';
import type { Session } from '../session.ts';
import { readGranted } from './permissions.ts';
import { createMcpServer } from './server.ts';

/**
 * Serves one client on standard input and output, until it closes the input or the process gets a signal.
 *
 * @throws Failure if the service rejects the credential or isn't reachable, or it isn't clear which project to use
 */
export async function serveMcp(session: Session): Promise<void> {
  const { url, credential, signal } = session;
  const projectId = await session.projectId();
  const server = createMcpServer({ url, credential, projectId, granted: await readGranted(session) });
  await server.connect(new StdioServerTransport());
  note(`Serving the tools of ${projectId} on standard input and output.`);
  await Promise.race([once(process.stdin, 'end'), once(signal, 'abort')]);
  await server.close();
}

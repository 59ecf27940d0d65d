import type { Command } from 'commander';
import { addExamples } from '../examples.ts';
import { note } from '../output.ts';
import { addServiceOptions, openSession } from '../session.ts';

export function addMcp(program: Command): void {
  const command = addServiceOptions(program.command('mcp'), { json: false });
  addExamples(command, 'tollgate mcp', 'tollgate mcp --project proj_01jc9x2v5qe3w8k4m6n7p9r0st')
    .description('serve the Model Context Protocol on standard input and output, for AI applications')
    .action(async (_options, command: Command) => {
      const session = openSession(command);
      // Imported on demand, so that other commands don't load the MCP SDK.
      const { serveMcp } = await import('../mcp/serve.ts');
      await serveMcp(session);
      note('The client has disconnected.');
    });
}

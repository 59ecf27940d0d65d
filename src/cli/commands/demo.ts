import type { Command } from 'commander';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { note, print, printJson } from '../output.ts';

export function addDemo(program: Command): void {
  addExamples(program.command('demo'), 'tollgate demo', 'tollgate demo --port 4013')
    .description(
      'create a project, pay for requests to it, and show the events; requires a server with the sandbox enabled',
    )
    .option('--port <port>', "port that receives webhooks; the server's EGRESS_ALLOW must include this port", '4012')
    .option('--sub <name>', 'the user who will own the project; the console’s sign-in suggests the same name', 'alice')
    .option('--json', 'print one JSON document at the end, and progress messages to standard error')
    .action(async ({ port, sub, json }: { port: string; sub: string; json?: boolean }) => {
      const isPort = /^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
      if (!isPort) throw new Failure('usage', '--port must be a port number, such as 4012.');
      // Imported on demand, so that other commands don't load a chain client and the x402 client.
      const { runDemo } = await import('../demo/demo.ts');
      const result = await runDemo({ port: Number(port), subject: sub, tell: json ? note : print });
      if (json) printJson(result);
    });
}

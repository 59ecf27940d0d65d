import type { Command } from 'commander';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';

type Options = { request?: string; data?: string; json?: boolean };

export function addPay(program: Command): void {
  addExamples(
    program.command('pay <url>'),
    'tollgate pay http://127.0.0.1:4000/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st/weather',
    `tollgate pay http://127.0.0.1:4000/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st/orders --data '{"item":"map"}'`,
  )
    .description('send a request to a paid endpoint and pay for it with the sandbox’s test money')
    .option('-X, --request <method>', 'the method (default: GET, or POST with --data)')
    .option('-d, --data <json>', 'a JSON request body')
    .option('--json', 'print one JSON document: the status, the transaction, and the body')
    .action(async (url: string, { request, data, json }: Options) => {
      if (!URL.canParse(url)) throw new Failure('usage', `"${url}" is not a URL.`);
      // Imported on demand, so that other commands don't load a chain client and the x402 client.
      const { runPay } = await import('../demo/pay.ts');
      await runPay(url, {
        method: request ?? (data === undefined ? 'GET' : 'POST'),
        isJson: json === true,
        ...(data !== undefined && { data }),
      });
    });
}

/**
 * A webhook receiver for local tests. It prints every request and whether its signature is valid.
 *
 *   npm run receiver                               listens on http://127.0.0.1:4010 and doesn't check signatures
 *   npm run receiver -- --secret whsec_…           checks signatures; you can also set `WEBHOOK_SECRET=whsec_…`
 *   npm run receiver -- --port 4011 --status 500   listens on another port and responds with this status
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { Webhook } from 'standardwebhooks';

const { values } = parseArgs({
  options: {
    secret: { type: 'string', default: process.env.WEBHOOK_SECRET ?? '' },
    port: { type: 'string', default: '4010' },
    status: { type: 'string', default: '200' },
  },
});

const server = createServer(async (request, response) => {
  const body = await buffer(request);
  response.writeHead(Number(values.status)).end();
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = request.headers;
  print(
    `◀ ${request.method} ${request.url}   webhook-id ${id ?? '(none)'}   webhook-timestamp ${timestamp ?? '(none)'}`,
    `  signature: ${judge(body.toString(), request.headers)}`,
    indent(readable(body.toString())),
  );
});

server.on('error', (error: NodeJS.ErrnoException) => {
  const isTaken = error.code === 'EADDRINUSE';
  console.error(isTaken ? `Port ${values.port} is in use. Stop the other program, or pass --port.` : error.message);
  process.exit(1);
});
server.listen(Number(values.port), '127.0.0.1', () => {
  const checks = values.secret ? 'Signatures are checked.' : 'Signatures are not checked: pass --secret.';
  print(`Receiver on http://127.0.0.1:${values.port}. ${checks}`);
});

function judge(body: string, headers: IncomingHttpHeaders): string {
  if (!values.secret) return 'not checked';
  try {
    new Webhook(values.secret).verify(body, headers as Record<string, string>);
    return 'valid';
  } catch (error) {
    return `INVALID: ${(error as Error).message}`;
  }
}

function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

function print(...lines: string[]): void {
  process.stdout.write(`\n${lines.join('\n')}\n`);
}

/**
 * Shows payments end to end on a development server with its sandbox: run `npm start` in one terminal, then `npm run demo`
 * in another. Creates a project with paid routes through the API, pays for them with the standard x402 client, and prints
 * the events that arrive at a webhook.
 *
 *   npm run demo                   receives webhooks on port 4012
 *   npm run demo -- --port 4010    receives them on another port, which the server's `EGRESS_ALLOW` must include
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { Webhook } from 'standardwebhooks';
import { privateKeyToAccount } from 'viem/accounts';
import { openDevIssuer } from '../src/auth/dev-issuer.ts';
import type { SandboxFile } from '../src/sandbox/sandbox.ts';

const DATA_DIR = process.env.DATA_DIR || '.data';
const SERVER = process.env.PUBLIC_URL || `http://127.0.0.1:${process.env.PORT || 4000}`;
const EVENTS_MILLISECONDS = 15_000;
/** Vitalik Buterin's wallet, as an example of someone else's wallet. */
const SELLER = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4012' } } });

type Event = { type: string; data: Record<string, unknown> };

try {
  await demo();
} catch (error) {
  process.stderr.write(`\n${(error as Error).message}\n`);
  process.exit(1);
}
process.exit(0);

async function demo(): Promise<void> {
  const sandbox = await readSandbox();
  await fetch(`${SERVER}/readyz`).catch(() => {
    throw new Error(`No server is running at ${SERVER}. Start it first: npm start`);
  });
  const receiver = await startReceiver();
  const api = await signIn();

  heading('A seller creates a project with paid routes');
  const project = await api<{ id: string }>('POST', '/api/projects', { name: 'Demo', walletAddress: SELLER });
  const base = `/api/projects/${project.id}`;
  const webhook = await api<{ secret: string }>('POST', `${base}/webhooks`, {
    url: `http://127.0.0.1:${values.port}/events`,
    eventTypes: ['*'],
  });
  receiver.use(webhook.secret);
  for (const [path, priceUsd, description] of [
    ['/weather', '0.01', 'The weather in a city'],
    ['/quotes/:symbol', '0.002', 'The price of a stock'],
    ['/broken', '0.5', 'Always fails'],
  ]) {
    await api('POST', `${base}/endpoints`, { path, upstreamUrl: sandbox.upstreamUrl + path!, priceUsd, description });
    line(`${path}  at ${priceUsd} USD, in front of ${sandbox.upstreamUrl}${path}`);
  }
  const shop = `${SERVER}/gateway/${project.id}`;

  heading('A buyer sends a request without paying');
  const unpaid = await fetch(`${shop}/weather`);
  line(`GET ${shop}/weather → ${unpaid.status}`);
  const terms = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString());
  line(`terms: ${JSON.stringify(terms.accepts[0])}`);

  heading('The buyer pays with the standard client, @x402/fetch');
  const account = privateKeyToAccount(sandbox.wallet.privateKey as `0x${string}`);
  const pay = wrapFetchWithPayment(fetch, registerExactEvmScheme(new x402Client(), { signer: account }));
  for (const path of ['/weather?city=Bern', '/quotes/ETH']) {
    const startedAt = performance.now();
    const answer = await pay(shop + path);
    line(`GET ${path} → ${answer.status} in ${Math.round(performance.now() - startedAt)} ms`);
    line(`  ${JSON.stringify(await answer.json())}`);
    line(`  transaction ${receiptOf(answer).transaction}`);
  }

  heading('Failed requests cost nothing');
  const broken = await pay(`${shop}/broken`);
  line(`GET /broken → ${broken.status}: ${JSON.stringify(await broken.json())}`);
  line(`  ${JSON.stringify(receiptOf(broken))}`);

  heading('The seller receives signed webhooks');
  await receiver.waitFor(['payment.settled', 'payment.settled', 'customer.first_payment', 'payment.failed']);
  const revenue = await api<{ totals: { totalUsd: string; paymentCount: number } }>('GET', `${base}/revenue`);
  heading('Revenue');
  line(`revenue ${revenue.totals.totalUsd} USD from ${revenue.totals.paymentCount} payments`);
  line(`more at ${SERVER}${base}/payments, /customers, and /revenue,`);
  line('with the token from: npm run --silent token -- --sub demo');
}

async function readSandbox(): Promise<SandboxFile> {
  const path = join(DATA_DIR, 'sandbox.json');
  const file = await readFile(path, 'utf8').catch(() => {
    throw new Error(`${path} is missing, so the sandbox is not running. Start the server first: npm start`);
  });
  const sandbox = JSON.parse(file) as SandboxFile;
  if (sandbox.upstreamUrl === null)
    throw new Error('The demo API is off because it could not start on port 4011. See the log of the server.');
  return sandbox;
}

/** Calls the API as a user with a token from the dev issuer. */
async function signIn() {
  const issuer = await openDevIssuer({ dataDir: DATA_DIR });
  const token = await issuer.sign({ subject: 'demo', tier: 'PRO' });
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(SERVER + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const value = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path} failed: ${JSON.stringify(value)}`);
    return value as T;
  };
}

/** A webhook receiver that checks signatures and prints events. */
async function startReceiver() {
  const arrived: Event[] = [];
  let webhook: Webhook | undefined;
  let wake = () => {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    response.writeHead(204).end();
    try {
      arrived.push(webhook!.verify(body, request.headers as Record<string, string>) as Event);
    } catch (error) {
      line(`event with an invalid signature: ${(error as Error).message}`);
    }
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', () =>
      reject(new Error(`Port ${values.port} is in use. Stop the other program, or pass --port.`)),
    );
    server.listen(Number(values.port), '127.0.0.1', resolve);
  });
  return {
    use(secret: string) {
      webhook = new Webhook(secret);
    },
    /** Prints events until all of these have arrived. */
    async waitFor(types: string[]): Promise<void> {
      const missing = [...types];
      const deadline = performance.now() + EVENTS_MILLISECONDS;
      for (let printed = 0; missing.length > 0; ) {
        if (printed === arrived.length) {
          const remaining = deadline - performance.now();
          if (remaining <= 0) throw new Error(`These events did not arrive: ${missing.join(', ')}`);
          await new Promise<void>((resolve) => {
            wake = resolve;
            setTimeout(resolve, Math.min(remaining, 500));
          });
          continue;
        }
        const { type, data } = arrived[printed++]!;
        const { endpointPath, path, amountUsd, milestoneUsd, stage, reason } = data;
        const facts = { endpointPath, path, amountUsd, milestoneUsd, stage, reason };
        line(`${type.padEnd(24)} ${JSON.stringify(facts)}`);
        const index = missing.indexOf(type);
        if (index >= 0) missing.splice(index, 1);
      }
    },
  };
}

function receiptOf(answer: Response): { transaction: string } {
  return JSON.parse(Buffer.from(answer.headers.get('payment-response') ?? 'e30=', 'base64').toString());
}

function heading(title: string): void {
  process.stdout.write(`\n── ${title}\n`);
}

function line(words: string): void {
  process.stdout.write(`   ${words}\n`);
}

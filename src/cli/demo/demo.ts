import { Tollgate } from '../../../packages/sdk/src/index.ts';
import { openDevIssuer } from '../../auth/dev-issuer.ts';
import { HOW_TO_RUN } from '../../how-to-run.ts';
import { payingFetch, receiptOf } from '../../sandbox/test-buyer.ts';
import { Failure } from '../failure.ts';
import { request } from '../http.ts';
import { failureOf } from '../sdk-failure.ts';
import { createStory, type Story } from './lines.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { DATA_DIR, readSandbox, type SandboxFile } from './sandbox-buyer.ts';

/** Vitalik Buterin's wallet, as an example of someone else's wallet. */
const SELLER = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

const ROUTES = [
  ['/weather', '0.01', 'The weather in a city'],
  ['/quotes/:symbol', '0.002', 'The price of a stock'],
  ['/broken', '0.5', 'Always fails'],
] as const;

type DemoPayment = { path: string; status: number; transaction: string | null; network: string | null };
type Terms = { accepts: [{ network: `${string}:${string}` }] };
type DemoOptions = { port: number; subject: string; tell: (text: string) => void };
/** What --json prints. */
export type DemoResult = { projectId: string; payments: DemoPayment[]; totalUsd: string; paymentCount: number };

/**
 * Shows payments end to end on a development server with its sandbox. Creates a project with paid routes through the
 * API, pays for them with the standard x402 client, and prints the events that arrive at a webhook.
 *
 * @param options `port` receives the webhooks, `subject` is the name of the user who will own the project, and `tell`
 *   prints a human-readable line
 * @throws Failure if the server or its sandbox isn't running, or if anything else fails
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { port, subject, tell } = options;
  const sandbox = await readSandbox();
  if (sandbox.upstreamUrl === null)
    throw new Failure('failed', "The demo API is off because it could not start on port 4011. See the server's log.");
  const { PUBLIC_URL, PORT } = process.env;
  const server = PUBLIC_URL || (PORT ? `http://127.0.0.1:${PORT}` : sandbox.serverUrl);
  await request(`${server}/readyz`).catch(() => {
    throw new Failure('unreachable', `No server is running at ${server}. Start it first: ${HOW_TO_RUN.start}`);
  });
  const story = createStory(tell);
  const receiver = await startReceiver(port, story);
  try {
    return await demo({ server, sandbox, port, receiver, story, subject }).catch((error) => {
      throw failureOf(error);
    });
  } finally {
    receiver.close();
  }
}

type Stage = { server: string; sandbox: SandboxFile; port: number; receiver: Receiver; story: Story; subject: string };

async function demo({ server, sandbox, port, receiver, story, subject }: Stage): Promise<DemoResult> {
  const { heading, line } = story;
  const { upstreamUrl } = sandbox;
  const account = await signIn(server, subject);

  heading('A seller creates a project with paid routes');
  const { id: projectId } = await account.projects.create({ name: 'Demo', walletAddress: SELLER });
  const inProject = { projectId };
  const webhook = await account.webhooks.create(
    { url: `http://127.0.0.1:${port}/events`, eventTypes: ['*'] },
    inProject,
  );
  receiver.use(webhook.secret);
  for (const [path, priceUsd, description] of ROUTES) {
    await account.endpoints.create({ path, upstreamUrl: upstreamUrl + path, priceUsd, description }, inProject);
    line(`${path}  at ${priceUsd} USD, in front of ${upstreamUrl}${path}`);
  }
  const shop = `${server}/gateway/${projectId}`;

  heading('A buyer sends a request without paying');
  const unpaid = await request(`${shop}/weather`);
  line(`GET ${shop}/weather → ${unpaid.status}`);
  const terms = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString()) as Terms;
  for (const accepted of terms.accepts) line(`terms: ${JSON.stringify(accepted)}`);

  heading('The buyer pays with the standard client, @x402/fetch');
  const { privateKey } = sandbox.wallet;
  const payments: DemoPayment[] = [];
  for (const [index, path] of ['/weather?city=Bern', '/quotes/ETH'].entries()) {
    // If the server accepts payments on several networks, the second payment is on another one.
    const pay = payingFetch(privateKey, request, terms.accepts[index % terms.accepts.length]!.network);
    const startedAt = performance.now();
    const response = await pay(shop + path);
    const { transaction = null, network = null } = receiptOf(response);
    payments.push({ path, status: response.status, transaction, network });
    line(`GET ${path} → ${response.status} in ${Math.round(performance.now() - startedAt)} ms`);
    line(`  ${JSON.stringify(await response.json())}`);
    line(`  transaction ${transaction} on ${network}`);
  }

  heading('Failed requests cost nothing');
  const broken = await payingFetch(privateKey, request)(`${shop}/broken`);
  payments.push({ path: '/broken', status: broken.status, transaction: null, network: null });
  line(`GET /broken → ${broken.status}: ${JSON.stringify(await broken.json())}`);
  line(`  ${JSON.stringify(receiptOf(broken))}`);

  heading('The seller receives signed webhooks');
  await receiver.waitFor(['payment.settled', 'payment.settled', 'customer.first_payment', 'payment.failed']);
  const { totals } = await account.revenue.get({}, inProject);
  heading('Revenue');
  line(`revenue ${totals.totalUsd} USD from ${totals.paymentCount} payments`);
  line(`See the project in the console. Sign in as ${subject}:`);
  line(`${server}/console/projects/${projectId}`);
  return { projectId, payments, totalUsd: totals.totalUsd, paymentCount: totals.paymentCount };
}

/** An API client for a user with a token from the dev issuer. */
async function signIn(server: string, subject: string): Promise<Tollgate> {
  const issuer = await openDevIssuer({ dataDir: DATA_DIR });
  const token = await issuer.sign({ subject, tier: 'PRO' });
  return new Tollgate({ baseUrl: server, token, fetch: request });
}

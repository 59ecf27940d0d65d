import type { Config } from './config/config.ts';
import { isLoopback } from './egress/address.ts';
import { HOW_TO_RUN } from './how-to-run.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

type ConfigOfWelcome = Pick<Config, 'roles' | 'sandbox' | 'consoleClient' | 'issuers' | 'host'>;
type SandboxOfWelcome = Pick<Sandbox, 'chains' | 'upstreamUrl' | 'demoPort' | 'wallet'>;

/**
 * What a development server prints once it is running: first what people need to try it, then the details.
 *
 * @param url the server's own
 * @param sandbox undefined if it couldn't start
 */
export function welcome(url: string, config: ConfigOfWelcome, sandbox: SandboxOfWelcome | undefined): string {
  const hasApi = config.roles.has('api');
  const lines = [
    ...(hasApi ? [row('Console', `${url}/console/`), row('Sign in', signIn(config))] : []),
    ...(sandbox?.upstreamUrl ? [row('See a demo', `${HOW_TO_RUN.demo}     in a second terminal in this folder`)] : []),
    ...(hasApi ? [row('Documentation', `${url}/docs/`), row('Sell your API', `${url}/docs/get-started`), ''] : []),
    ...(hasApi ? forPrograms(url, config) : []),
    row('Health, metrics', `${url}/readyz  ${url}/metrics`),
    ...(config.sandbox ? ['', ...(sandbox ? describe(sandbox) : NO_SANDBOX)] : []),
  ];
  return `\n  Tollgate is running.\n\n${lines.join('\n')}\n\n`;
}

const row = (name: string, value: string) => `    ${name.padEnd(18)} ${value}`;

function signIn({ consoleClient, issuers, host }: ConfigOfWelcome): string {
  if (consoleClient) return `at ${new URL(consoleClient.issuer).host}`;
  if (issuers.length === 0 && isLoopback(host)) return 'with any name, such as alice';
  return 'with a token';
}

function forPrograms(url: string, { issuers }: ConfigOfWelcome): string[] {
  return [
    ...(issuers.length === 0 ? [row('Get a token', `${HOW_TO_RUN.token} --sub alice --tier pro`)] : []),
    row('GraphQL', `${url}/graphql`),
    row('REST', `${url}/api/projects     reference: ${url}/api/openapi.json`),
  ];
}

const NO_SANDBOX = [
  '  The sandbox is off, so the demo can’t run and payments go to the public test network. The log says why.',
];

function describe({ chains, upstreamUrl, demoPort, wallet }: SandboxOfWelcome): string[] {
  return [
    '  Sandbox, on this machine only:',
    '',
    ...chains.map(({ network, rpcUrl }) =>
      row('Chain', `${rpcUrl}     with the chain ID and USDC of ${network.title}`),
    ),
    row(
      'Demo API',
      upstreamUrl ?? `off, because port ${demoPort} is taken. Free that port and restart to run the demo.`,
    ),
    row('Wallet', `${wallet.address}, 1000 USDC${chains.length > 1 ? ' on each chain' : ''}`),
  ];
}

/**
 * A process that gets access tokens, and uses them for the events it is given. It can be told to kill itself with
 * SIGKILL at a certain step the next time it gets a token. It is controlled over IPC.
 */
import pg from 'pg';
import pino from 'pino';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { createWithToken } from '../../../src/delivery/send/access-tokens.ts';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress, type Egress } from '../../../src/egress/egress.ts';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';

export type SimulatedConnector = {
  id: string;
  projectId: string;
  type: 'quickbooks' | 'xero' | 'google-sheets';
  config: Record<string, string>;
};
export type ProcessSetup = {
  name: string;
  databaseUrl: string;
  secretKeys: string;
  providerUrl: string;
  hostOverrides: Record<string, string>;
  connectors: SimulatedConnector[];
};
export type DeathStep = 'before the request' | 'after the response' | 'after the token is stored';
/** What to do next. `death` applies to the first token for that connector. */
export type Round = { events: { id: string; connectorId: string }[]; death?: { connectorId: string; at: DeathStep } };

function start({ name, databaseUrl, secretKeys, providerUrl, hostOverrides, connectors }: ProcessSetup) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 5 });
  const log = pino({ level: 'silent' });
  const egress = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log, hostOverrides });
  const secretBox = createSecretBox(parseKeyring(secretKeys));
  let death: Round['death'];

  async function mayDie(connectorId: string, at: DeathStep): Promise<void> {
    if (death?.connectorId !== connectorId || death.at !== at) return;
    process.kill(process.pid, 'SIGKILL');
    // The signal may take a moment.
    await new Promise(() => {});
  }

  const users = new Map(
    connectors.map((connector) => {
      let hasNewToken = false;
      const mortal: Pick<Egress, 'send'> = {
        async send(request) {
          await mayDie(connector.id, 'before the request');
          const response = await egress.send(request);
          await mayDie(connector.id, 'after the response');
          hasNewToken = true;
          return response;
        },
      };
      const withToken = createWithToken({ pool, egressOf: () => mortal, secretBox, userAgent: name });
      const use = (eventId: string) =>
        withToken(connector, getConnector(connector.type), connector.config, async ({ config }) => {
          if (hasNewToken) await mayDie(connector.id, 'after the token is stored');
          hasNewToken = false;
          const response = await egress.send({
            method: 'POST',
            url: `${providerUrl}/${connector.type}/events`,
            body: eventId,
            headers: { authorization: `Bearer ${config.accessToken}` },
            timeoutMilliseconds: 15_000,
            maxResponseBytes: 1_000,
          });
          return { isUnauthorized: response.statusCode === 401 };
        });
      return [connector.id, use] as const;
    }),
  );

  return async function run(round: Round): Promise<void> {
    death = round.death;
    await Promise.all(round.events.map(({ id, connectorId }) => users.get(connectorId)!(id)));
  };
}

const run = start(JSON.parse(process.argv[2]!));
process.on('message', async (round: Round) => {
  const error = await run(round).then(
    () => undefined,
    (cause) => String(cause),
  );
  process.send!({ error });
});
process.on('disconnect', () => process.exit(0));
process.send!({ isReady: true });

import pg from 'pg';
import pino from 'pino';
import { openBus } from '../../../../src/bus/bus.ts';
import { openDatabase } from '../../../../src/database/client.ts';
import { parseEgressAllow } from '../../../../src/egress/allow-list.ts';
import { createEgress } from '../../../../src/egress/egress.ts';
import { createTxtLookup } from '../../../../src/egress/txt-lookup.ts';
import { createHostChecker } from '../../../../src/features/projects/hosts/checks.ts';
import { createHostProver } from '../../../../src/features/projects/hosts/proof.ts';
import { type DnsAnswer, startDnsServer } from '../../../egress/dns-server.ts';
import { rawRequest } from '../../../gateway/sign.ts';
import { decodeHeader } from '../../../gateway/support.ts';
import { startTestApp, type TestUser } from '../../../support/app.ts';
import { sendRaw } from '../../../support/raw-http.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { createEndpoint, createProject } from '../../../support/resources.ts';

export type Status = {
  host: string;
  status: string;
  activeHost: string | null;
  verifiedAt: string | null;
  nextCheckAt: string | null;
  failingSince: string | null;
  problem: string | null;
  dnsRecord: { name: string; value: string };
  httpChallenge: { url: string; body: string };
};
export type HostStage = Awaited<ReturnType<typeof openHostStage>>;

const log = pino({ level: 'silent' });
const HOSTS = Array.from({ length: 80 }, (_, index) => `api${index}.shop.com`);

/**
 * A service without a worker, with DNS records and a web server that all hosts point to. Hosts are checked only when a
 * test asks for it.
 */
export async function openHostStage(env: Record<string, string> = {}) {
  const records = new Map<string, DnsAnswer>();
  const dns = await startDnsServer((name, type) => (type === 'TXT' && records.get(name)) || 'NXDOMAIN');
  const notFound = () => ({ statusCode: 404 });
  const web = await startReceiver(notFound);
  const hostOverrides = Object.fromEntries(HOSTS.map((host) => [host, web.url]));
  const app = await startTestApp({
    hostOverrides,
    dnsServers: [dns.address],
    env: { ROLES: 'api,gateway', ...env },
  });
  const sql = new pg.Pool({ connectionString: app.databaseUrl });
  const closers: (() => Promise<unknown>)[] = [];
  let used = 0;

  /** Returns the wallet that this host's 402 asks buyers to pay, or the status of another response. */
  async function payeeAt(host: string): Promise<string | number> {
    const [response] = await sendRaw(app.url, [rawRequest('GET /weather', `Host: ${host}`)]);
    if (response!.status !== 402) return response!.status;
    return decodeHeader<{ accepts: { payTo: string }[] }>(response!.headers.get('payment-required')).accepts[0]!.payTo;
  }

  return {
    app,
    sql,
    dns,
    web,
    records,
    payeeAt,
    nextHost: () => HOSTS[used++]!,

    /** Creates a project that claims this host, with an endpoint at `/weather`. */
    async claim(user: TestUser, gatewayHost: string, fields: object = {}) {
      const project = await createProject(user, { ...fields, gatewayHost });
      await createEndpoint(user, project.base, { path: '/weather' });
      return project;
    },
    status: async (user: TestUser, base: string) => (await user.rest<Status>('GET', `${base}/gateway-host`)).body,
    verify: (user: TestUser, base: string) =>
      user.rest<{ gatewayHostStatus: Status | null; code: string }>('POST', `${base}/gateway-host/verify`, {}),
    publish: ({ dnsRecord: { name, value } }: Status) => void records.set(name, [value]),
    /** Makes the web server respond to these challenges, each on its own host. */
    respondTo(...statuses: Status[]) {
      const bodies = new Map(statuses.map(({ httpChallenge: { url, body } }) => [url, body]));
      web.handle(({ path, headers }) => {
        const body = bodies.get(`https://${headers.host}${path}`);
        return body === undefined ? notFound() : { body };
      });
    },

    /** A process that checks the hosts that are due. */
    async openProcess() {
      const db = await openDatabase({ url: app.databaseUrl, poolSize: 4, log });
      const bus = await openBus({ url: app.databaseUrl, pool: db.pool, log });
      const egress = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log, hostOverrides });
      closers.push(
        () => egress.close(),
        () => bus.close(),
        () => db.close(),
      );
      const prover = createHostProver({
        egress,
        lookupTxt: createTxtLookup([dns.address]),
        userAgent: 'Tollgate/test',
      });
      return createHostChecker({ db, bus, prover, production: false, log });
    },

    /** Moves a host's claim into the past, as if this much time had passed, so that a check is due. */
    letPass: (host: string, interval: string) =>
      sql.query(
        `UPDATE "HostClaim" SET "nextCheckAt" = now(), "claimedAt" = "claimedAt" - $2::interval,
           "lastProvedAt" = "lastProvedAt" - $2::interval, "failingSince" = "failingSince" - $2::interval
         WHERE "host" = $1`,
        [host, interval],
      ),

    async close() {
      for (const close of closers) await close();
      await sql.end();
      await app.stop();
      await web.close();
      await dns[Symbol.asyncDispose]();
    },
  };
}

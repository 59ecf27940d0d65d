import type { Queryable } from '../../database/client.ts';
import { asReference } from '../../database/reference.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { type BuyerRules, RULES_JSON, type RulesJson, rulesOf } from '../../features/projects/buyers/rules.ts';
import type { EndpointProtocol, SettlementOrder } from '../../generated/prisma/client.ts';
import type { Network } from '../chain/networks.ts';
import { networksTaken, type ProjectMode } from '../chain/served-networks.ts';
import type { createCredentialOpener, UpstreamCredentials } from '../upstream/credentials.ts';
import type { SigningProject } from '../upstream/signature.ts';
import { OFFER_COLUMN, type RouteOffer } from './route-offer.ts';

/** A paid endpoint as the gateway serves it. */
export type PaidRoute = {
  /** If not, its path isn't served. Default: true. */
  isActive?: boolean;
  projectId: string;
  /** The seller's account, which owns the project. */
  accountId: string;
  endpointId: string;
  /** As stored, with its placeholders. */
  path: string;
  pattern: readonly string[];
  description: string | null;
  upstreamUrl: string;
  /** Names of request headers that the upstream gets in addition to the default ones. */
  forwardedHeaders: readonly string[];
  /** The headers that the seller has added. @throws AppError `UNAVAILABLE` if they can't be decrypted. */
  credentials(): UpstreamCredentials;
  /** Which secrets sign requests to the upstream. */
  signing: SigningProject;
  /** As stored: an empty list means every method. */
  methods: readonly string[];
  /** The project's wallet, EIP-55 checksummed. */
  payTo: `0x${string}`;
  /** 0 if the route is free. */
  priceAtomic: bigint;
  /** Where buyers can pay, preferred first. Empty if the server doesn't serve the project's networks. */
  networks: readonly Network[];
  /** Earlier prices, for as long as payments at these prices may still arrive. */
  previousPrices: { priceAtomic: bigint; validUntil: Date }[];
  offer: RouteOffer;
  /** With `MCP`, only tool calls are paid for. */
  protocol: EndpointProtocol;
  settlement: SettlementOrder;
  /** The seller's time limit for the upstream, or null for the default. */
  timeoutSeconds: number | null;
  /** Whether the operator has blocked the seller's account. Buyers get only what they have already paid for. */
  isBlocked: boolean;
  /** Which wallets may pay, and how much. All routes of a project share them. */
  buyers?: BuyerRules | undefined;
};

/**
 * `version`: the version of the rows that the routes were read from, or undefined if there are none. `accountId`: the
 * project's account, if there are any. `bytes`: about how much memory the routes take.
 */
export type LoadedRoutes = {
  routes: PaidRoute[];
  version: string | undefined;
  accountId: string | undefined;
  bytes: number;
};

type Row = {
  version: string;
  isActive: boolean;
  accountId: string;
  endpointId: string;
  path: string;
  description: string | null;
  upstreamUrl: string;
  forwardedHeaders: string[];
  secretUpstreamHeaders: string | null;
  /** Only the first row has them, because they can be large. */
  secretProjectHeaders: string | null;
  upstreamSecretVersion: number;
  previousUpstreamSecretExpiresAt: Date | null;
  methods: string[] | null;
  payTo: string;
  mode: ProjectMode;
  networks: string[];
  priceAtomic: string;
  previousPrices: { priceAtomic: string; validUntil: string }[];
  offer: RouteOffer;
  protocol: EndpointProtocol;
  settlement: SettlementOrder;
  timeoutSeconds: number | null;
  isBlocked: boolean;
  /** Only the first row has them, because they can be large. */
  buyers: RulesJson | null;
};

// The memory that a route and its parts take, in addition to their text. Measured in V8.
const ROUTE_BYTES = 1_000;
const SEGMENT_BYTES = 500;
const PREVIOUS_PRICE_BYTES = 160;
/** An item of a list, such as a tag. */
const ITEM_BYTES = 32;
/** The memory that a wallet in a list takes. */
const WALLET_BYTES = 150;
/** What each route has of the headers of its project. All routes share their text. */
const MAX_PROJECT_HEADERS_BYTES = 2_000;

type OpenCredentials = ReturnType<typeof createCredentialOpener>;

/** Reads a project's routes, with those that are inactive, because these keep their paths. */
export async function loadRoutes(
  db: Queryable,
  projectId: string,
  served: readonly Network[],
  openCredentials: OpenCredentials,
): Promise<LoadedRoutes> {
  // Oldest first: of two paths with the same shape, the older one is served. Earlier prices of 0 are left out, because
  // nobody has signed a payment for them.
  const { rows } = await runStatement<Row>(db, LOAD_ROUTES(projectId));
  shareProfile(rows);
  const credentialsOf = openCredentials(projectId, rows[0]?.secretProjectHeaders ?? null);
  const buyers = rulesOf(rows[0]?.buyers ?? null);
  const routes = rows.map((row) => ({ ...toRoute(projectId, row, served, credentialsOf(row)), buyers }));
  const walletBytes = ((buyers?.allowed.size ?? 0) + (buyers?.denied.size ?? 0)) * WALLET_BYTES;
  const headersBytes = Math.min(rows[0]?.secretProjectHeaders?.length ?? 0, MAX_PROJECT_HEADERS_BYTES);
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row) + headersBytes, walletBytes);
  return { routes, version: rows[0]?.version, accountId: rows[0]?.accountId, bytes };
}

/** The current version of a project's routes, or null if there is no such project. */
export async function readRoutesVersion(db: Queryable, projectId: string): Promise<string | null> {
  const { rows } = await runStatement<{ version: string | null }>(db, READ_ROUTES_VERSION(projectId));
  return rows[0]!.version;
}

/**
 * Changes whenever any program writes a row that the routes of project `$1` are read from, because each write has a new
 * transaction ID (`xmin`). A failover that loses commits can use an ID again, so the times are also compared. It also
 * changes when an earlier price expires.
 */
const VERSION = `(
  SELECT encode(sha256(convert_to(concat_ws(' ', p.xmin, p."updatedAt", u."blockedAt", b.xmin, b."updatedAt", (
           SELECT string_agg(concat_ws(' ', e.id, e.xmin, e."updatedAt", (
                    SELECT string_agg(concat_ws(' ', o."priceAtomic", o.xmin), ' ' ORDER BY o."priceAtomic")
                      FROM "PreviousPrice" o
                     WHERE o."endpointId" = ${asReference('e.id')} AND o."validUntil" > now())), ' ' ORDER BY e.id)
             FROM "Endpoint" e WHERE e."projectId" = $1)), 'UTF8')), 'hex')
    FROM "Project" p JOIN "User" u ON u.id = p."userId" LEFT JOIN "BuyerRules" b ON b."projectId" = $1
   WHERE p.id = $1)`;

/** Keeps the texts of a project once. Otherwise, each of its routes would have a copy, because each row has one. */
function shareProfile(rows: readonly Row[]): void {
  const { serviceName, iconUrl } = rows[0]?.offer ?? {};
  for (const row of rows) row.offer = { ...row.offer, serviceName: serviceName!, iconUrl: iconUrl! };
}

function bytesOf(row: Row): number {
  const { path, description, upstreamUrl, offer, forwardedHeaders, previousPrices } = row;
  const items = [...forwardedHeaders, ...offer.tags];
  const texts = [upstreamUrl, offer.mimeType ?? '', ...items].reduce((sum, { length }) => sum + length, 0);
  return (
    ROUTE_BYTES +
    SEGMENT_BYTES * path.split('/').length +
    ITEM_BYTES * items.length +
    PREVIOUS_PRICE_BYTES * previousPrices.length +
    texts +
    // It is also kept without what servers may ignore, in segments and as a whole.
    3 * path.length +
    // Most characters outside Latin-1 take two bytes.
    2 * (description?.length ?? 0) +
    // Encrypted and, once they have been used, decrypted.
    2 * (row.secretUpstreamHeaders?.length ?? 0)
  );
}

function toRoute(
  projectId: string,
  row: Row,
  served: readonly Network[],
  credentials: PaidRoute['credentials'],
): PaidRoute {
  const { endpointId, path, description, upstreamUrl, forwardedHeaders, methods, previousPrices } = row;
  const { isActive, accountId, protocol, settlement, timeoutSeconds, isBlocked } = row;
  const { upstreamSecretVersion, previousUpstreamSecretExpiresAt } = row;
  return {
    isActive,
    projectId,
    accountId,
    endpointId,
    path,
    pattern: path.slice(1).split('/'),
    description,
    upstreamUrl,
    forwardedHeaders,
    credentials,
    signing: { id: projectId, upstreamSecretVersion, previousUpstreamSecretExpiresAt },
    methods: methods ?? [],
    payTo: row.payTo as `0x${string}`,
    priceAtomic: BigInt(row.priceAtomic),
    networks: networksTaken(served, row),
    previousPrices: previousPrices.map(({ priceAtomic, validUntil }) => ({
      priceAtomic: BigInt(priceAtomic),
      validUntil: new Date(validUntil),
    })),
    offer: row.offer,
    protocol,
    settlement,
    timeoutSeconds,
    isBlocked,
  };
}

const LOAD_ROUTES = preparedStatement(
  'gateway-routes',
  `SELECT p."userId" AS "accountId", e.id AS "endpointId", e."isActive", e.path, e.description, e."upstreamUrl", e."forwardedHeaders", e.methods,
         e.protocol, e.settlement, e."timeoutSeconds", u."blockedAt" IS NOT NULL AS "isBlocked",
         e."secretUpstreamHeaders",
         CASE WHEN row_number() OVER (ORDER BY e.id) = 1 THEN p."secretUpstreamHeaders" END AS "secretProjectHeaders",
         p."upstreamSecretVersion", p."previousUpstreamSecretExpiresAt",
         p."walletAddress" AS "payTo", p."mode", p."networks", e."priceAtomic"::text AS "priceAtomic",
         ARRAY(SELECT json_build_object('priceAtomic', o."priceAtomic"::text, 'validUntil', o."validUntil")
                 FROM "PreviousPrice" o
                WHERE o."endpointId" = ${asReference('e.id')} AND o."validUntil" > now()
                  AND o."priceAtomic" > 0) AS "previousPrices",
         CASE WHEN row_number() OVER (ORDER BY e.id) = 1
              THEN (SELECT ${RULES_JSON} FROM "BuyerRules" b WHERE b."projectId" = $1) END AS "buyers",
         ${OFFER_COLUMN}, ${VERSION} AS version
    FROM "Endpoint" e
    JOIN "Project" p ON p.id = e."projectId"
    JOIN "User" u ON u.id = p."userId"
   WHERE e."projectId" = $1
   ORDER BY e.id`,
);

const READ_ROUTES_VERSION = preparedStatement('gateway-routes-version', `SELECT ${VERSION} AS version`);

import type { Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import type { InputSchema } from '../../features/endpoints/discovery.ts';
import type { EndpointProtocol } from '../../generated/prisma/client.ts';

/** The public description of what a project sells, without upstreams, wallets, or IDs. */
export type Catalog = {
  name: string;
  description: string | null;
  iconUrl: string | null;
  /** An email address or an HTTPS URL. */
  contact: string | null;
  /** Active endpoints, oldest first. */
  offers: Offer[];
  /** The number of active endpoints that aren't in `offers`. */
  leftOut: number;
};

export type Offer = {
  path: string;
  description: string | null;
  protocol: EndpointProtocol;
  priceAtomic: bigint;
  /** Never empty. */
  methods: readonly string[];
  mimeType: string | null;
  tags: readonly string[];
  inputSchema: InputSchema | null;
  exampleResponse: unknown;
};

/** A catalog as it is kept in memory. Objects would take up to 32 times as much memory as their JSON. */
export type StoredCatalog = { bytes: number; read(): Catalog };

type Row = Omit<Catalog, 'offers' | 'leftOut'> & { active: number; offers: string | null };
type StoredOffer = Omit<Offer, 'priceAtomic'> & { priceAtomic: string };

const MAX_OFFERS = 500;
/** After this many bytes of paths, descriptions, and tags, further endpoints are left out. */
const MAX_TEXT_BYTES = 524_288;
/** After this many bytes of schemas and examples, further endpoints are listed without theirs. */
const MAX_DETAIL_BYTES = 524_288;
/** The methods to list for an endpoint that serves every method, because we don't know which ones its API supports. */
const USUAL_METHODS = ['GET', 'POST'];
const BYTES_PER_CHARACTER = 2;

const LOAD_CATALOG = preparedStatement(
  'gateway-catalog',
  `SELECT p.name, p.description, p."iconUrl", p.contact,
         (SELECT count(*)::int FROM "Endpoint" e WHERE e."projectId" = $1 AND e."isActive") AS active,
         (SELECT json_agg(json_build_object(
                   'path', s.path, 'description', s.description, 'priceAtomic', s."priceAtomic"::text,
                   'protocol', s.protocol, 'methods', s.methods, 'mimeType', s."mimeType", 'tags', s.tags,
                   'inputSchema', CASE WHEN s.bytes <= $3 THEN s."inputSchema" END,
                   'exampleResponse', CASE WHEN s.bytes <= $3 THEN s."exampleResponse" END) ORDER BY s.id)::text
            FROM (SELECT e.*, sum(coalesce(octet_length(e."inputSchema"::text), 0)
                                + coalesce(octet_length(e."exampleResponse"::text), 0)) OVER (ORDER BY e.id) AS bytes,
                         sum(octet_length(e.path) + coalesce(octet_length(e.description), 0)
                             + octet_length(e.tags::text)) OVER (ORDER BY e.id) AS "textBytes"
                    FROM "Endpoint" e
                   WHERE e."projectId" = $1 AND e."isActive"
                   ORDER BY e.id LIMIT $2) s
           WHERE s."textBytes" <= $4) AS offers
    FROM "Project" p JOIN "User" u ON u.id = p."userId"
   WHERE p.id = $1 AND u."blockedAt" IS NULL`,
);

/** Reads what a project sells. Undefined if the project doesn't exist, has no active endpoints, or is blocked. */
export async function loadCatalog(db: Queryable, projectId: string): Promise<StoredCatalog | undefined> {
  const { rows } = await runStatement<Row>(db, LOAD_CATALOG(projectId, MAX_OFFERS, MAX_DETAIL_BYTES, MAX_TEXT_BYTES));
  const [row] = rows;
  if (!row?.offers) return undefined;
  const { active, offers, ...project } = row;
  return { bytes: BYTES_PER_CHARACTER * offers.length, read: () => ({ ...project, ...readOffers(offers, active) }) };
}

function readOffers(json: string, active: number): Pick<Catalog, 'offers' | 'leftOut'> {
  const stored = JSON.parse(json) as StoredOffer[];
  const offers = stored.map(({ priceAtomic, methods, ...offer }) => ({
    ...offer,
    priceAtomic: BigInt(priceAtomic),
    methods: listedMethods(offer.protocol, methods),
  }));
  return { offers, leftOut: active - offers.length };
}

/**
 * Leaves out HEAD if GET is listed, because HEAD returns the same response without the body. Of an MCP server, only POST
 * is listed, because that is how tools are called.
 */
function listedMethods(protocol: EndpointProtocol, methods: readonly string[]): readonly string[] {
  if (protocol === 'MCP') return ['POST'];
  if (methods.length === 0) return USUAL_METHODS;
  return methods.includes('GET') ? methods.filter((method) => method !== 'HEAD') : methods;
}

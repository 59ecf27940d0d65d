// Code that all API peers share. They apply Tollgate's rules to the same tables, with the same Prisma client.
import { createLocalJWKSet, jwtVerify } from 'jose';

const REQUESTS_PER_MINUTE = 1_000_000;
const PAGE_SIZE = 20;

/**
 * The rules for each request: jose verifies the token, the user is read from the database, and a limiter counts the
 * request.
 */
export function createRules({ prisma, issuer }) {
  const keys = createLocalJWKSet(issuer.jwks);
  const windows = new Map();

  function count(userId) {
    const now = Date.now();
    const window = windows.get(userId);
    if (!window || window.endsAt < now) windows.set(userId, { endsAt: now + 60_000, count: 1 });
    else if (++window.count > REQUESTS_PER_MINUTE)
      throw Object.assign(new Error('Too many requests'), { statusCode: 429 });
  }

  /** Returns the user, whose `id` is the tenant in every `where`. */
  return async function admit({ authorization = '' }) {
    const { payload } = await jwtVerify(authorization.slice('Bearer '.length), keys, {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: issuer.algorithms,
    }).catch((cause) => {
      throw Object.assign(new Error('Unauthenticated', { cause }), { statusCode: 401 });
    });
    const where = { issuer_subject: { issuer: payload.iss, subject: payload.sub } };
    const user = await prisma.user.findUnique({ where });
    if (!user) throw Object.assign(new Error('Unauthenticated'), { statusCode: 401 });
    count(user.id);
    return user;
  };
}

const present = ({ priceAtomic, ...endpoint }) => ({ ...endpoint, priceUsd: String(Number(priceAtomic) / 1e6) });

/** The data that all peers serve. */
export function createData({ prisma, newId }) {
  return {
    async endpoint(user, projectId, id) {
      const found = await prisma.endpoint.findFirst({ where: { id, projectId, project: { userId: user.id } } });
      return found && present(found);
    },
    async endpoints(user, projectId, { limit = PAGE_SIZE, after } = {}) {
      const found = await prisma.endpoint.findMany({
        where: { projectId, project: { userId: user.id }, ...(after && { id: { lt: after } }) },
        orderBy: { id: 'desc' },
        take: limit + 1,
      });
      return {
        data: found.slice(0, limit).map(present),
        nextCursor: found.length > limit ? found[limit - 1].id : null,
      };
    },
    /** Prisma combines the calls from one turn of the event loop into one statement. */
    async endpointsOf(projectId, first) {
      const found = await prisma.project.findUnique({ where: { id: projectId } }).endpoints({
        orderBy: { id: 'desc' },
        take: first,
      });
      return found.map(present);
    },
    projects: (user, first) =>
      prisma.project.findMany({ where: { userId: user.id }, orderBy: { id: 'desc' }, take: first }),
    /** Also records the event and the audit entry, as Tollgate does. */
    async createEndpoint(user, projectId, { path, upstreamUrl, priceUsd, description = null }) {
      if (!/^\/[\w/-]+$/.test(path) || !URL.canParse(upstreamUrl) || !/^\d{1,12}(\.\d{1,6})?$/.test(priceUsd)) {
        throw Object.assign(new Error('Invalid'), { statusCode: 422 });
      }
      const project = await prisma.project.findFirst({ where: { id: projectId, userId: user.id } });
      if (!project) throw Object.assign(new Error('Not found'), { statusCode: 404 });
      const endpoint = await prisma.$transaction(async (tx) => {
        const priceAtomic = BigInt(Math.round(Number(priceUsd) * 1e6)).toString();
        const created = await tx.endpoint.create({
          data: { id: newId('Endpoint'), projectId, path, upstreamUrl, priceAtomic, description },
        });
        const data = { endpointId: created.id, path, upstreamUrl, priceUsd, description };
        await tx.event.create({
          data: { id: newId('Event'), projectId, type: 'endpoint.created', data },
        });
        await tx.auditEntry.create({
          data: {
            id: newId('AuditEntry'),
            userId: user.id,
            projectId,
            targetId: created.id,
            action: 'endpoint.created',
            actorKind: 'USER',
            actorId: user.id,
            actorName: user.subject,
            changes: data,
          },
        });
        return created;
      });
      return present(endpoint);
    },
  };
}

/** The schema that all GraphQL peers share. */
export const TYPE_DEFS = `
  scalar DateTime
  type Endpoint {
    id: ID! path: String! upstreamUrl: String! priceUsd: String! description: String isActive: Boolean!
    forwardedHeaders: [String!]! createdAt: DateTime! updatedAt: DateTime!
  }
  type EndpointConnection { nodes: [Endpoint!]! }
  type Project {
    id: ID! name: String! walletAddress: String!
    endpoint(id: ID!): Endpoint
    endpoints(first: Int): EndpointConnection!
  }
  type ProjectConnection { nodes: [Project!]! }
  input CreateEndpointInput {
    projectId: ID! path: String! upstreamUrl: String! priceUsd: String! description: String
  }
  type CreateEndpointPayload { endpoint: Endpoint! }
  type Query { project(id: ID!): Project projects(first: Int): ProjectConnection }
  type Mutation { createEndpoint(input: CreateEndpointInput!): CreateEndpointPayload! }
`;

/** The schema's resolvers. The context contains the user. */
export const resolversOf = ({ prisma, data }) => ({
  Query: {
    project: (_root, { id }, { user }) => prisma.project.findFirst({ where: { id, userId: user.id } }),
    projects: async (_root, { first = PAGE_SIZE }, { user }) => ({ nodes: await data.projects(user, first) }),
  },
  Mutation: {
    createEndpoint: async (_root, { input: { projectId, ...input } }, { user }) => ({
      endpoint: await data.createEndpoint(user, projectId, input),
    }),
  },
  Project: {
    endpoint: ({ id: projectId }, { id }, { user }) => data.endpoint(user, projectId, id),
    endpoints: async ({ id }, { first = PAGE_SIZE }) => ({ nodes: await data.endpointsOf(id, first) }),
  },
});

import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { requirePermission } from '../../auth/require-permission.ts';
import { requireProject } from '../../auth/require-project.ts';
import type { IdentifyAgain, Viewer } from '../../auth/viewer.ts';
import type { OauthApp, OauthApps } from '../../config/oauth-apps.ts';
import type { GrantDefinition } from '../../connectors/credential.ts';
import type { ConnectorDefinition, ConnectorType } from '../../connectors/definition.ts';
import { addressFields, type ConnectorConfig } from '../../connectors/describe.ts';
import type { ConnectorRequest } from '../../connectors/exchange.ts';
import { getConnector } from '../../connectors/types/registry.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import { TOKEN_TIMEOUT_SECONDS } from '../../delivery/send/access-tokens.ts';
import { MAX_RESPONSE_BYTES } from '../../delivery/send/response-text.ts';
import { toResponse } from '../../delivery/send/vendor-response.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { invalidField, notFound } from '../../errors.ts';
import type { Connector } from '../../generated/prisma/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import type { SubscriptionInput } from '../destinations/input.ts';
import { parseConfig } from './config.ts';
import { connectorInput } from './input.ts';
import type { ConnectorService } from './service.ts';

const startInput = connectorInput.extend({ connectorId: z.string().nullish() });
const finishInput = z.strictObject({ state: z.string().max(200), code: z.string().min(1).max(4096) });

/** `connectorId`: the connector to reconnect. If it is omitted, a new one is created. */
export type StartAuthorizationInput = SubscriptionInput & {
  type: ConnectorType;
  config?: unknown;
  connectorId?: string | null;
};
export type ConnectorAuthorizations = ReturnType<typeof createConnectorAuthorizations>;

type Values = Pick<z.infer<typeof startInput>, 'type' | 'connectorId' | 'config'>;
/** `input` is stored as received, except credentials, because the connector service validates it again. */
type Started = { verifier: string; authorizationUrl: string; input: StartAuthorizationInput & Values };
type Row = { id: string; projectId: string; sealed: string };
type Grant = GrantDefinition<ConnectorConfig>;
type Connectable = { definition: ConnectorDefinition; grant: Grant; app: OauthApp };

const LIFETIME_MINUTES = 10;
const OVER = 'This authorization has expired or was already used. Connect the account again.';

const TAKE = statement(
  'connector-authorization-take',
  `DELETE FROM "ConnectorAuthorization" WHERE "id" = $1 AND "userId" = $2 AND "expiresAt" > now()
   RETURNING "id", "projectId", "sealed"`,
);

/**
 * Connects sellers' vendor accounts through the operator's OAuth apps: authorization code with PKCE (RFC 7636). Only
 * the user who started an authorization can finish it, once, within ten minutes. Codes are exchanged here, so that no
 * token ever reaches the browser.
 */
export function createConnectorAuthorizations(options: {
  db: TenantDatabase;
  secretBox: SecretBox;
  egress: Pick<Egress, 'send'>;
  egressAllow: EgressAllow;
  requireNoHold: () => void;
  connectors: ConnectorService;
  oauthApps: OauthApps;
  publicUrl: string | undefined;
  userAgent: string;
}) {
  const { db, secretBox, egress, egressAllow, requireNoHold, connectors, oauthApps, publicUrl, userAgent } = options;
  const redirectUri = `${publicUrl}/console/connect`;
  const cellOf = ({ id, projectId }: Pick<Row, 'id' | 'projectId'>) => ({
    table: 'ConnectorAuthorization',
    column: 'sealed',
    rowId: id,
    projectId,
  });

  const appOf = (grant: Grant | undefined) => (grant && publicUrl ? oauthApps[grant.vendor] : undefined);

  function requireConnectable(type: ConnectorType): Connectable {
    const definition = getConnector(type);
    const grant = definition.credential?.grant;
    const app = appOf(grant);
    if (grant && app) return { definition, grant, app };
    throw invalidField('/type', `${definition.title} accounts can't be connected here. Enter credentials instead.`);
  }

  /** @returns undefined for a new connector. */
  async function findCurrent(
    viewer: Viewer,
    projectId: string,
    { connectorId, type }: Pick<Values, 'connectorId' | 'type'>,
  ): Promise<Connector | undefined> {
    if (!connectorId) return undefined;
    const current = await connectors.find(viewer, connectorId, projectId);
    if (current?.type !== type) throw notFound();
    return current;
  }

  return {
    /** The name of the vendor whose accounts sellers can connect to connectors of this type, or null. */
    vendorOf({ credential }: ConnectorDefinition): string | null {
      const grant = credential?.grant;
      return appOf(grant) ? grant!.title : null;
    },

    /**
     * Starts connecting an account. Nothing changes until the seller authorizes access.
     *
     * @returns the URL of the vendor's page where the seller authorizes access.
     * @throws AppError `NOT_FOUND` and `VALIDATION_FAILED`.
     */
    async start(viewer: Viewer, projectId: string, input: StartAuthorizationInput): Promise<string> {
      const project = await requireProject(db.prisma, viewer, projectId);
      const values = parseInput(startInput, input);
      const current = await findCurrent(viewer, project.id, values);
      const { definition, grant, app } = requireConnectable(values.type);
      // Report invalid input before the seller leaves for the vendor's page.
      const config = parseConfig(
        definition,
        { ...withoutCredentials(definition, whole(values, current)), grant: 'pending' },
        egressAllow,
      );

      const authorizationUrl = grant.authorizationUrl(config);
      const state = secret();
      const verifier = secret();
      const row = { id: hash(state, 'hex'), projectId: project.id };
      // The credentials are replaced, and could be large, because they weren't checked.
      const stored = { ...input, config: withoutCredentials(definition, values.config) };
      const sealed = secretBox.seal(
        JSON.stringify({ verifier, authorizationUrl, input: stored } satisfies Started),
        cellOf(row),
      );
      await runStatement(db.pool, START(row.id, viewer.userId, row.projectId, sealed));
      const url = new URL(authorizationUrl);
      const parameters = {
        response_type: 'code',
        client_id: app.clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: hash(verifier, 'base64url'),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    },

    /**
     * Exchanges the code, and creates or changes the connector.
     *
     * @throws AppError `VALIDATION_FAILED` if the authorization has expired or the vendor rejects the code, and any error
     *   from creating or updating a connector. `UNAVAILABLE` on hold; the authorization can then still be finished later.
     *   `FORBIDDEN` if the person's role has changed before the vendor responds.
     */
    async finish(
      caller: Viewer,
      input: { state: string; code: string },
      identifyAgain: IdentifyAgain,
    ): Promise<Connector> {
      const { state, code } = parseInput(finishInput, input);
      requireNoHold();
      const row = await take(caller.userId, hash(state, 'hex'));
      if (!row) throw invalidField('/state', OVER);
      const {
        verifier,
        authorizationUrl,
        input: started,
      } = JSON.parse(secretBox.open(row.sealed, cellOf(row))) as Started;
      const { type, connectorId: _current, config, ...subscription } = started;
      const current = await findCurrent(caller, row.projectId, started);
      const connectable = requireConnectable(type);
      const { definition, grant, app } = connectable;
      const known = whole(started, current);
      // The code and the app's secret go only to the server where the seller authorized access.
      if (grant.authorizationUrl(known) !== authorizationUrl) throw invalidField('/state', OVER);
      const request = grant.buildExchange(known, { app, code, verifier, redirectUri });
      const refreshToken = await exchange(connectable, request, known);
      const viewer = await identifyAgain();
      const { id: projectId } = await requireProject(db.prisma, viewer, row.projectId);
      requirePermission(viewer, projectId, 'WRITE');
      const granted = { ...subscription, grant: refreshToken };
      if (!current) {
        const entered = withoutCredentials(definition, known);
        return connectors.create(viewer, projectId, { type, ...granted, config: entered });
      }
      const replaced = Object.fromEntries(otherCredentials(definition).map((name) => [name, null]));
      // The connector may have been moved before the vendor responded. The grant goes only to where access was authorized.
      const addresses = Object.fromEntries(addressFields(definition).map(({ name }) => [name, known[name] ?? null]));
      const changes = { ...replaced, ...withoutCredentials(definition, config), ...addresses };
      return connectors.update(viewer, current.id, { ...granted, config: changes }, projectId);
    },
  };

  async function take(userId: string, id: string): Promise<Row | undefined> {
    const { rows } = await runStatement<Row>(db.pool, TAKE(id, userId));
    return rows[0];
  }

  async function exchange(
    { definition, grant, app }: Connectable,
    { method, url, headers, body }: ConnectorRequest,
    config: ConnectorConfig,
  ): Promise<string> {
    const fail = (reason: string) => invalidField('/code', reason);
    const response = await egress
      .send({
        method,
        url,
        headers: { 'user-agent': userAgent, ...headers },
        ...(body !== undefined && { body }),
        timeoutMilliseconds: TOKEN_TIMEOUT_SECONDS * 1000,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      })
      .catch((error) => {
        throw error instanceof EgressError ? fail(`Couldn't reach ${grant.title}. Connect the account again.`) : error;
      });
    const outcome = definition.credential!.classify(toResponse(response), config, { app });
    if (outcome.kind !== 'token')
      throw fail(`${grant.title} couldn't complete the connection. Connect the account again.`);
    if (outcome.refreshToken !== undefined) return outcome.refreshToken;
    throw fail(
      `${grant.title} granted only temporary access. Remove this app from your account, then connect it again.`,
    );
  }
}

/** The credential fields that a grant replaces. */
function otherCredentials({ credential }: ConnectorDefinition): string[] {
  return ['accessToken', ...credential!.fields].filter((name) => name !== 'grant');
}

function withoutCredentials(definition: ConnectorDefinition, config: ConnectorConfig): ConnectorConfig {
  const credentials = new Set([...otherCredentials(definition), 'grant']);
  return Object.fromEntries(Object.entries(config).filter(([name]) => !credentials.has(name)));
}

/** The resulting config, without secrets. */
function whole({ config }: Values, current: Connector | undefined): ConnectorConfig {
  const merged = Object.entries({ ...(current?.config as ConnectorConfig | undefined), ...config });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

const secret = () => randomBytes(32).toString('base64url');
const hash = (text: string, encoding: 'hex' | 'base64url') => createHash('sha256').update(text).digest(encoding);

const START = statement(
  'connector-authorization-start',
  `INSERT INTO "ConnectorAuthorization" ("id", "userId", "projectId", "sealed", "expiresAt")
   VALUES ($1, $2, $3, $4, now() + make_interval(mins => ${LIFETIME_MINUTES}))`,
);

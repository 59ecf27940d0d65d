import { type KeyObject, randomUUID } from 'node:crypto';
import { jwtVerify } from 'jose';
import { json } from '../../connectors/support/vendors/vendor.ts';
import { pace } from '../../support/pace.ts';
import { type ReceivedRequest, startReceiver, type TestResponse } from '../../support/receiver.ts';
import type { SimulatedConnector } from './token-process.ts';

type Type = SimulatedConnector['type'];
type Tokens = { accessToken: string; refreshToken: string; process: string; isUsed: boolean };

/** The tokens that a vendor has issued for one connector. */
type Grant = {
  lifetimeSeconds: number;
  latest?: Tokens;
  /** The refresh token that `latest` was issued for. It works until `latest` is used, in case the response was lost. */
  previous?: { refreshToken: string; usedAt: number };
  /** Access tokens and the times when they expire. */
  accessTokens: Map<string, number>;
  /** How many tokens were issued, and how many of them were issued for a reused refresh token. */
  issued: number;
  repeated: number;
  /** The processes that got a token that was never used before the next one was issued. */
  wasted: string[];
  inFlight: number;
  mostInFlight: number;
  /** Set once a refresh token that no longer works was used. After that, no tokens are issued. */
  isEnded: boolean;
};

const TYPE_BY_HOST: Readonly<Record<string, Type>> = {
  'oauth.platform.intuit.com': 'quickbooks',
  'identity.xero.com': 'xero',
  'oauth2.googleapis.com': 'google-sheets',
};
const LIFETIME_SECONDS: Readonly<Record<Type, number>> = { quickbooks: 3_600, xero: 1_800, 'google-sheets': 3_600 };
/**
 * How long Xero accepts a refresh token after it was used
 * (https://developer.xero.com/documentation/guides/oauth2/auth-flow/).
 */
const GRACE_SECONDS = 1_800;
/** Long enough that overlapping requests are in flight together. */
const LATENCY_MILLISECONDS = 5;

/**
 * Acts as Intuit, Xero, and Google, with its own clock. As soon as the latest tokens are used, the previous refresh
 * token no longer works. Using such a token ends the grant, as if it had been stolen.
 *
 * @param options `now` is in seconds. `onTokenRequest` is called before the response with the process that sent the
 * request.
 */
export async function startOauthProvider(options: {
  now: () => number;
  serviceAccount: { email: string; publicKey: KeyObject };
  onTokenRequest: (type: Type, process: string) => Promise<void>;
}) {
  const { now, serviceAccount, onTokenRequest } = options;
  const grants = new Map<Type, Grant>(
    Object.values(TYPE_BY_HOST).map((type) => [
      type,
      {
        lifetimeSeconds: LIFETIME_SECONDS[type],
        accessTokens: new Map(),
        isEnded: false,
        issued: 0,
        repeated: 0,
        wasted: [],
        inFlight: 0,
        mostInFlight: 0,
      },
    ]),
  );
  /** The time at which each event first arrived. */
  const arrivals = new Map<string, number>();

  function refresh(grant: Grant, refreshToken: string): boolean {
    const { latest, previous } = grant;
    if (refreshToken === latest?.refreshToken) {
      grant.previous = { refreshToken, usedAt: now() };
      return true;
    }
    const isRepeated = refreshToken === previous?.refreshToken && !latest?.isUsed;
    if (isRepeated && now() - previous.usedAt <= GRACE_SECONDS) {
      grant.repeated++;
      return true;
    }
    grant.isEnded = true;
    return false;
  }

  const isAssertion = (assertion: string) =>
    jwtVerify(assertion, serviceAccount.publicKey, {
      issuer: serviceAccount.email,
      audience: 'https://oauth2.googleapis.com/token',
      algorithms: ['RS256'],
    }).then(
      () => true,
      () => false,
    );

  async function issue(type: Type, { body, headers }: ReceivedRequest): Promise<TestResponse> {
    const grant = grants.get(type)!;
    const parameters = new URLSearchParams(body.toString());
    const refreshToken = parameters.get('refresh_token');
    const isGranted =
      !grant.isEnded &&
      (refreshToken === null ? await isAssertion(parameters.get('assertion') ?? '') : refresh(grant, refreshToken));
    if (!isGranted) return json(400, { error: 'invalid_grant' });
    if (grant.issued++ > 0 && !grant.latest!.isUsed) grant.wasted.push(grant.latest!.process);
    const process = String(headers['user-agent']);
    grant.latest = { accessToken: randomUUID(), refreshToken: randomUUID(), process, isUsed: false };
    grant.accessTokens.set(grant.latest.accessToken, now() + grant.lifetimeSeconds);
    return json(200, {
      access_token: grant.latest.accessToken,
      expires_in: grant.lifetimeSeconds,
      ...(refreshToken !== null && { refresh_token: grant.latest.refreshToken }),
    });
  }

  async function respondToTokenRequest(type: Type, request: ReceivedRequest): Promise<TestResponse> {
    const grant = grants.get(type)!;
    grant.mostInFlight = Math.max(grant.mostInFlight, ++grant.inFlight);
    try {
      const response = await issue(type, request);
      await pace(LATENCY_MILLISECONDS);
      await onTokenRequest(type, String(request.headers['user-agent']));
      return response;
    } finally {
      grant.inFlight--;
    }
  }

  function takeEvent(type: Type, { headers, body }: ReceivedRequest): TestResponse {
    const grant = grants.get(type)!;
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    if (!((grant.accessTokens.get(token) ?? 0) > now())) return { statusCode: 401 };
    if (token === grant.latest?.accessToken) grant.latest.isUsed = true;
    const id = body.toString();
    if (!arrivals.has(id)) arrivals.set(id, now());
    return { statusCode: 200 };
  }

  const receiver = await startReceiver((request) => {
    const issuer = TYPE_BY_HOST[request.headers.host?.split(':')[0] ?? ''];
    // There can be thousands of recorded requests, and nothing reads them.
    receiver.requests.length = 0;
    return issuer ? respondToTokenRequest(issuer, request) : takeEvent(request.path.split('/')[1] as Type, request);
  });

  return {
    url: receiver.url,
    hostOverrides: Object.fromEntries(Object.keys(TYPE_BY_HOST).map((host) => [host, receiver.url])),
    arrivals,
    grant: (type: Type): Readonly<Grant> => grants.get(type)!,
    /** Starts with this refresh token, as if a person had just connected the app. */
    connect(type: Type, refreshToken: string): void {
      grants.get(type)!.latest = { accessToken: '', refreshToken, process: '', isUsed: false };
    },
    /** Revokes the access tokens early. */
    endAccessTokens: (type: Type): void => grants.get(type)!.accessTokens.clear(),
    close: () => receiver.close(),
  };
}

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../../src/connectors/definition.ts';
import { type ReceivedRequest, type Receiver, startReceiver, type TestResponse } from '../../../support/receiver.ts';
import { ask, json, type Vendor, type VendorCall } from './vendor.ts';
import { VENDORS } from './vendors.ts';

/**
 * Replaces the vendor for one call. It can respond, let the vendor respond (`usual`), or take over
 * `response` and return nothing.
 */
export type Interference = (
  call: VendorCall,
  response: ServerResponse,
  usual: () => TestResponse,
) => TestResponse | undefined | Promise<TestResponse | undefined>;

export type VendorServer = Awaited<ReturnType<typeof startVendors>>;

/** The vendors' token endpoints. They issue access tokens for any credential. */
const TOKEN_ENDPOINTS: ReadonlySet<string> = new Set([
  'oauth2.googleapis.com/token',
  'identity.xero.com/connect/token',
  'oauth.platform.intuit.com/oauth2/v1/tokens/bearer',
  'acme.my.salesforce.com/services/oauth2/token',
]);

/** Starts all vendors behind one loopback server, which identifies them by the host in the request. */
export async function startVendors() {
  const known = new Set<string>();
  const isKnown = (credential: string) => [...known].some((mark) => credential.includes(mark));
  const vendors = new Map<ConnectorType, Vendor>(CONNECTOR_TYPES.map((type) => [type, VENDORS[type]()]));
  const typeByHost = new Map([...vendors].flatMap(([type, { hosts }]) => hosts.map((host) => [host, type] as const)));
  const calls: { type: ConnectorType; call: VendorCall; at: number }[] = [];
  const queued = new Map<ConnectorType, Interference[]>();
  const lasting = new Map<ConnectorType, Interference>();

  const tokenCalls: VendorCall[] = [];
  let issueToken: ((request: ReceivedRequest) => TestResponse | Promise<TestResponse>) | undefined;

  const receiver: Receiver = await startReceiver((request, response) => {
    const host = request.headers.host?.split(':')[0] ?? '';
    const call: VendorCall = {
      method: request.method,
      url: new URL(request.path, `https://${host}`),
      headers: request.headers as Record<string, string>,
      body: request.body.toString('utf8'),
    };
    if (TOKEN_ENDPOINTS.has(host + request.path)) {
      tokenCalls.push(call);
      if (issueToken) return issueToken(request);
      const token = `token-${randomUUID()}`;
      known.add(token);
      return json(200, { access_token: token, token_type: 'Bearer', expires_in: 3600 });
    }
    const type = typeByHost.get(host);
    if (!type) return { statusCode: 421, body: `No vendor has the host ${host}` };
    calls.push({ type, call, at: Date.now() });
    const usual = () => ask(vendors.get(type)!, call, isKnown);
    const interfere = queued.get(type)?.shift() ?? lasting.get(type);
    return interfere ? interfere(call, response, usual) : usual();
  });

  return {
    /** Redirects requests for every vendor's host to this server. Pass it to the service under test. */
    hostOverrides: Object.fromEntries(
      [...typeByHost.keys(), ...TOKEN_ENDPOINTS].map((place) => [place.split('/')[0]!, receiver.url]),
    ),
    /** Replaces the token endpoints on vendors' hosts. */
    issueTokens(issue: (request: ReceivedRequest) => TestResponse | Promise<TestResponse>): void {
      issueToken = issue;
    },
    /** Returns the requests for access tokens, in order. */
    tokenCalls: (): VendorCall[] => tokenCalls,
    /** Accepts credentials that contain this mark from now on. */
    accept: (mark: string) => void known.add(mark),
    /** Rejects credentials that contain this mark from now on. */
    expire: (mark: string) => void known.delete(mark),
    /** Returns the calls to a type's vendor, in order. */
    callsTo: (type: ConnectorType): VendorCall[] =>
      calls.filter((entry) => entry.type === type).map(({ call }) => call),
    /** Returns the times of those calls, in milliseconds since 1970. */
    timesOf: (type: ConnectorType): number[] => calls.filter((entry) => entry.type === type).map(({ at }) => at),
    /** Replaces the vendor for the next calls, with one interference per call. */
    interfereNext(type: ConnectorType, ...interferences: (Interference | TestResponse)[]): void {
      const functions = interferences.map((one) => (typeof one === 'function' ? one : () => one));
      queued.set(type, [...(queued.get(type) ?? []), ...functions]);
    },
    /** Replaces the vendor until it is reset. */
    interfere(type: ConnectorType, interference: Interference | undefined): void {
      if (interference) lasting.set(type, interference);
      else lasting.delete(type);
    },
    close: () => receiver.close(),
  };
}

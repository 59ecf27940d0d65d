import type { ServerResponse } from 'node:http';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../../src/connectors/definition.ts';
import { type Answer, type Receiver, startReceiver } from '../../../support/receiver.ts';
import { ask, type Vendor, type VendorCall } from './vendor.ts';
import { VENDORS } from './vendors.ts';

/**
 * Replaces the vendor for one call. It may respond, let the vendor respond (`usual`), or take over
 * `response` and return nothing.
 */
export type Interference = (
  call: VendorCall,
  response: ServerResponse,
  usual: () => Answer,
) => Answer | undefined | Promise<Answer | undefined>;

export type VendorServer = Awaited<ReturnType<typeof startVendors>>;

/** All vendors behind one loopback server, identified by the host in the request. */
export async function startVendors() {
  const known = new Set<string>();
  const isKnown = (credential: string) => [...known].some((mark) => credential.includes(mark));
  const vendors = new Map<ConnectorType, Vendor>(CONNECTOR_TYPES.map((type) => [type, VENDORS[type]()]));
  const typeByHost = new Map([...vendors].flatMap(([type, { hosts }]) => hosts.map((host) => [host, type] as const)));
  const calls: { type: ConnectorType; call: VendorCall; at: number }[] = [];
  const queued = new Map<ConnectorType, Interference[]>();
  const lasting = new Map<ConnectorType, Interference>();

  const receiver: Receiver = await startReceiver((request, response) => {
    const host = request.headers.host?.split(':')[0] ?? '';
    const type = typeByHost.get(host);
    if (!type) return { statusCode: 421, body: `No vendor has the host ${host}` };
    const call: VendorCall = {
      method: request.method,
      url: new URL(request.path, `https://${host}`),
      headers: request.headers as Record<string, string>,
      body: request.body.toString('utf8'),
    };
    calls.push({ type, call, at: Date.now() });
    const usual = () => ask(vendors.get(type)!, call, isKnown);
    const interfere = queued.get(type)?.shift() ?? lasting.get(type);
    return interfere ? interfere(call, response, usual) : usual();
  });

  return {
    /** For the service under test: every vendor's host leads here. */
    hostOverrides: Object.fromEntries([...typeByHost.keys()].map((host) => [host, receiver.url])),
    /** Credentials with this mark in them are known from now on. */
    accept: (mark: string) => void known.add(mark),
    /** Credentials with this mark have expired. */
    expire: (mark: string) => void known.delete(mark),
    /** What a type's vendor was sent, in order. */
    callsTo: (type: ConnectorType): VendorCall[] =>
      calls.filter((entry) => entry.type === type).map(({ call }) => call),
    /** When the calls came, in milliseconds since 1970. */
    timesOf: (type: ConnectorType): number[] => calls.filter((entry) => entry.type === type).map(({ at }) => at),
    /** These replace the vendor in the next calls, one each. Responses are sent unchanged. */
    interfereNext(type: ConnectorType, ...interferences: (Interference | Answer)[]): void {
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

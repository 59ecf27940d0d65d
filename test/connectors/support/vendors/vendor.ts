import type { ConnectorRequest } from '../../../../src/connectors/definition.ts';
import type { Answer } from '../../../support/receiver.ts';

/** A call as a vendor sees it. */
export type VendorCall = {
  method: string;
  /** With the vendor's host, whatever the address it was really sent to. */
  url: URL;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
};

/** A fake vendor: it accepts what the vendor's documentation asks for and rejects the rest as the vendor does. */
export type Vendor = {
  hosts: readonly string[];
  /** The credential that a call carries, decoded. */
  credentialIn(call: VendorCall): string;
  /** The response to unknown credentials. Undefined if the vendor responds as if it knew them. */
  refuse(call: VendorCall): Answer | undefined;
  vendorResponse(call: VendorCall): Answer;
};

/** A response with a JSON body. */
export function json(statusCode: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return { statusCode, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function text(statusCode: number, body: string): Answer {
  return { statusCode, headers: { 'content-type': 'text/plain' }, body };
}

/** The parsed body of a call. @throws Error if it isn't declared as JSON, or isn't JSON. */
export function bodyOf(call: VendorCall) {
  if (!call.headers['content-type']?.startsWith('application/json'))
    throw new Error('The body is not declared to be JSON.');
  return JSON.parse(call.body);
}

/** The user and password of Basic authentication as one text, with the colon between them. */
export function basicOf({ headers }: VendorCall): string {
  const [scheme, encoded = ''] = (headers.authorization ?? '').split(' ');
  return scheme === 'Basic' ? Buffer.from(encoded, 'base64').toString('utf8') : '';
}

/** Calls a vendor without a network. Bodies it can't read get a 400. */
export function ask(vendor: Vendor, call: VendorCall, isKnown: (credential: string) => boolean): Answer {
  try {
    const refusal = isKnown(vendor.credentialIn(call)) ? undefined : vendor.refuse(call);
    return refusal ?? vendor.vendorResponse(call);
  } catch (error) {
    return json(400, { error: String(error) });
  }
}

/** A request of a connector as its vendor sees it. */
export function toCall({ method, url, headers, body = '' }: ConnectorRequest): VendorCall {
  return { method, url: new URL(url), headers, body };
}

import type { ConnectorRequest } from '../../../../src/connectors/exchange.ts';
import type { TestResponse } from '../../../support/receiver.ts';

/** A call from a vendor's point of view. */
export type VendorCall = {
  method: string;
  /** Contains the vendor's host, not the address that the call was actually sent to. */
  url: URL;
  /** Header names are in lowercase. */
  headers: Readonly<Record<string, string>>;
  body: string;
};

/**
 * A fake vendor. Accepts requests that follow the vendor's documentation and rejects all others the way the vendor
 * does.
 */
export type Vendor = {
  hosts: readonly string[];
  /** Returns the decoded credential of a call. */
  credentialIn(call: VendorCall): string;
  /** Returns the response to unknown credentials, or undefined if the vendor doesn't check them. */
  refuse(call: VendorCall): TestResponse | undefined;
  vendorResponse(call: VendorCall): TestResponse;
};

/** Creates a response with a JSON body. */
export function json(statusCode: number, body: unknown, headers: Record<string, string> = {}): TestResponse {
  return { statusCode, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function text(statusCode: number, body: string): TestResponse {
  return { statusCode, headers: { 'content-type': 'text/plain' }, body };
}

/** Parses the body of a call. @throws Error if it isn't declared as JSON, or isn't JSON. */
export function bodyOf(call: VendorCall) {
  if (!call.headers['content-type']?.startsWith('application/json'))
    throw new Error('The body is not declared to be JSON.');
  return JSON.parse(call.body);
}

/** Returns `user:password` from Basic authentication. */
export function basicOf({ headers }: VendorCall): string {
  const [scheme, encoded = ''] = (headers.authorization ?? '').split(' ');
  return scheme === 'Basic' ? Buffer.from(encoded, 'base64').toString('utf8') : '';
}

/** Calls a vendor without a network. Bodies it can't read get a 400. */
export function ask(vendor: Vendor, call: VendorCall, isKnown: (credential: string) => boolean): TestResponse {
  try {
    const refusal = isKnown(vendor.credentialIn(call)) ? undefined : vendor.refuse(call);
    return refusal ?? vendor.vendorResponse(call);
  } catch (error) {
    return json(400, { error: String(error) });
  }
}

/** Converts a connector's request to the call that its vendor receives. */
export function toCall({ method, url, headers, body = '' }: ConnectorRequest): VendorCall {
  return { method, url: new URL(url), headers, body };
}

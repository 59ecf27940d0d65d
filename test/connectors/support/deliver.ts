import type { BuildContext, ConnectorDefinition, ConnectorEvent } from '../../../src/connectors/definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../../../src/connectors/exchange.ts';
import type { TestResponse } from '../../support/receiver.ts';
import { type Drive, drive } from './drive.ts';
import { ask, toCall, type Vendor } from './vendors/vendor.ts';
import { VENDORS } from './vendors/vendors.ts';

/** Delivers events to the type's fake vendor without a network. The vendor accepts all credentials. */
export function deliver(
  definition: ConnectorDefinition,
  config: Record<string, unknown>,
  events: readonly [ConnectorEvent, ...ConnectorEvent[]],
  context: Partial<BuildContext> = {},
  vendor: Vendor = VENDORS[definition.type](),
): Drive {
  return drive(definition, config, events, (request) => respond(vendor, request), context);
}

/** Requests that follow the delivery: Google Sheets formats the rows, and HubSpot names a new contact. */
const FOLLOW_UPS: ReadonlySet<string | undefined> = new Set(['format', 'name']);

/** Returns the request that delivered the events. */
export function deliveringRequest(requests: readonly ConnectorRequest[]): ConnectorRequest {
  return requests.findLast(({ step }) => !FOLLOW_UPS.has(step))!;
}

/** Returns the vendor's response to a request with valid credentials. */
export function respond(vendor: Vendor, request: ConnectorRequest): ConnectorResponse {
  return toResponse(ask(vendor, toCall(request), () => true));
}

/** Converts a vendor's response to what a connector reads. */
export function toResponse({ statusCode = 200, headers = {}, body = '' }: TestResponse): ConnectorResponse {
  const flat = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  return { statusCode, headers: Object.fromEntries(flat), body: body.toString() };
}

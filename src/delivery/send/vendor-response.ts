import type { IncomingHttpHeaders } from 'node:http';
import type { ConnectorResponse } from '../../connectors/exchange.ts';
import type { EgressResponse } from '../../egress/egress.ts';

/** Converts a response to the form that connector types expect. */
export function toResponse({ statusCode, headers, body }: EgressResponse): ConnectorResponse {
  return { statusCode, headers: flatHeaders(headers), body: body.toString('utf8') };
}

function flatHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

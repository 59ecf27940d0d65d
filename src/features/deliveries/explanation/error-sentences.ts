/** What happened, and what the seller can do; null if there is nothing to do. */
export type Sentences = { summary: string; advice: string | null };

/** What each error class means for the seller. `summary` is for attempts that have no message. */
export const ERROR_CLASS_SENTENCES: Record<string, Sentences> = {
  http_status: { summary: 'The destination returned an error.', advice: 'Check the destination’s logs.' },
  redirect: {
    summary: 'The destination returned a redirect.',
    advice: 'Use the final URL in the webhook. Redirects are not followed.',
  },
  rejected: {
    summary: 'The service returned a success status but rejected the event.',
    advice: 'See `responseBody` for the service’s error message.',
  },
  timeout: {
    summary: 'The response did not finish in time.',
    advice: 'Respond first and do the work afterward. You can also set a longer `timeoutSeconds` for the webhook.',
  },
  connect_timeout: {
    summary: 'The connection timed out.',
    advice: 'Check that your firewall allows the requests. Packets are being dropped, not rejected.',
  },
  connection_refused: {
    summary: 'The connection was refused.',
    advice: 'Check that your server is running and listening on the port in the URL.',
  },
  connection_reset: {
    summary: 'The connection was closed before the response was complete.',
    advice:
      'Check whether your server, or a proxy in front of it, crashes or closes the connection when it gets this request. If it requires a client certificate, set the webhook’s `clientCertificate`.',
  },
  dns_error: {
    summary: 'The host name could not be resolved.',
    advice: 'Check the host name in the URL and its DNS records.',
  },
  tls_error: {
    summary: 'The secure connection could not be established.',
    advice:
      'Check that the certificate has not expired, matches the host name, and includes the full chain. If it comes from a private authority, set the webhook’s `certificateAuthority`. If your server requires a client certificate, set `clientCertificate`.',
  },
  protocol_error: {
    summary: 'The response is not valid HTTP.',
    advice: 'Check that the server on the port in the URL supports HTTP/1.1.',
  },
  target_not_allowed: {
    summary: 'The address is not allowed.',
    advice:
      'Use a host on the public internet. This name resolves to a private address, which only the operator can allow for webhooks (`WEBHOOK_ALLOW`).',
  },
  proxy_error: {
    summary: 'Our proxy for outgoing requests did not open a connection.',
    advice: 'You do not need to do anything. The operator’s log has the details.',
  },
  blocked: {
    summary: "The service is blocking requests from Tollgate's IP address.",
    advice: 'You do not need to do anything. Tollgate checks every few minutes whether the block has ended.',
  },
  no_access_token: {
    summary: 'No access token was available for the request.',
    advice: 'Check the credential that is used to get access tokens. The reason says what was rejected.',
  },
  interrupted: {
    summary: 'The worker stopped while sending. The request may have arrived.',
    advice: 'Deduplicate by `webhook-id`: the same event will be sent again.',
  },
  internal: {
    summary: 'Something went wrong on our side.',
    advice: 'You do not need to do anything. The operator’s log has the details.',
  },
};

export const UNKNOWN_ERROR_CLASS: Sentences = {
  summary: 'The request could not be sent.',
  advice: 'Check the URL, and make sure your server is running.',
};

const STATUS_ADVICE: Record<number, string> = {
  400: 'The destination does not understand the request. Compare `curl` with what it expects.',
  401: 'The destination rejected the credentials. Check the secret it uses to verify requests. If it requires a login, set the webhook’s `authentication`.',
  403: 'The destination rejected the request. Check its firewall, its bot protection, and the secret it uses to verify requests.',
  404: 'Nothing was found at this URL. Check the path.',
  405: 'This URL does not accept this HTTP method. Check the path.',
  413: 'The request is too large for the destination. Raise its limit.',
  415: 'The destination does not accept JSON. Check what it expects.',
  422: 'The destination rejected the content. Compare `curl` with what it expects.',
  429: 'The destination is rate-limiting requests. Tollgate honors its `Retry-After`. If this keeps happening, raise the destination’s limit, or set a lower `maxPerSecond`.',
};

/** What to do about a response with this status. */
export function adviceOfStatus(statusCode: number): string {
  const known = STATUS_ADVICE[statusCode];
  if (known) return known;
  return statusCode >= 500
    ? 'The destination returned a server error. Check its logs around the time of the attempt.'
    : 'Return any 2xx status to confirm that the request arrived.';
}

/** By status or error class. Each function takes the name of the service. */
const CONNECTOR_ADVICE: Record<string, (title: string) => string> = {
  401: (title) => `Save a valid credential for ${title} in the connector's config.`,
  403: (title) => `Check the credential’s permissions in ${title}.`,
  404: (title) => `Check that the connector’s destination, such as a channel or a table, still exists in ${title}.`,
  410: (title) => `Check that the connector’s destination, such as a channel or a table, still exists in ${title}.`,
  429: (title) =>
    `${title} is rate-limiting requests. Tollgate slows down automatically. If this keeps happening, raise the limit in ${title}, or set a lower \`maxPerSecond\`.`,
  rejected: (title) => `See \`responseBody\` for the response from ${title}.`,
  interrupted: (title) => `${title} may get the event twice. Use the event ID to recognize duplicates.`,
  target_not_allowed: () => "Change the URL in the connector's config to one on the public internet.",
};

/** The error classes whose usual advice also fits connectors. */
const SHARED_ADVICE: ReadonlySet<string> = new Set(['blocked', 'no_access_token', 'proxy_error', 'internal']);

/**
 * What to do about a failed attempt to reach a connector's service. The reason already says what the service rejected.
 * The type's own `advice` comes first.
 */
export function adviceForConnector(
  { title, advice = {} }: { title: string; advice?: Readonly<Partial<Record<string, string>>> | undefined },
  { statusCode, errorClass }: { statusCode: number | null; errorClass: string | null },
): string | null {
  const isTelling = errorClass === 'rejected' || errorClass === 'blocked' || statusCode === null;
  const key = isTelling ? (errorClass ?? '') : String(statusCode);
  const known = advice[key] ?? CONNECTOR_ADVICE[key]?.(title);
  if (known) return known;
  if (SHARED_ADVICE.has(key)) return ERROR_CLASS_SENTENCES[key]!.advice;
  if (statusCode !== null && statusCode < 500) return `See \`responseBody\` for the response from ${title}.`;
  return `If this keeps happening, check whether ${title} has an outage.`;
}

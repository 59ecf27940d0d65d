/** Why something stands as it does, and what can be done; null when there is nothing to do. */
export type Sentences = { summary: string; advice: string | null };

/** What each class of failure means for the seller. `summary` is for attempts without a message of their own. */
export const ERROR_CLASS_SENTENCES: Record<string, Sentences> = {
  http_status: { summary: 'The receiver did not answer with success.', advice: 'Look into the log of the receiver.' },
  redirect: {
    summary: 'The receiver answered with a redirect.',
    advice: 'Put the final URL into the webhook: redirects are not followed.',
  },
  rejected: {
    summary: 'The answer had a good status, and yet says no.',
    advice: 'Read `responseBody`: it is what the service said.',
  },
  timeout: {
    summary: 'The answer was not complete in time.',
    advice: 'Answer first and do the work afterwards: there are 15 seconds for all of it.',
  },
  connect_timeout: {
    summary: 'The connection could not be made in time.',
    advice: 'See that a firewall lets the requests in: packets are dropped rather than refused.',
  },
  connection_refused: {
    summary: 'The connection was refused.',
    advice: 'See that the receiver is running, and listens on the port of the URL.',
  },
  connection_reset: {
    summary: 'The connection was closed before the answer was complete.',
    advice: 'See whether the receiver, or a proxy before it, crashes or closes connections at this request.',
  },
  dns_error: {
    summary: 'The host name could not be resolved.',
    advice: 'Check the host name of the URL, and its records in the DNS.',
  },
  tls_error: {
    summary: 'The secure connection could not be established.',
    advice: 'Check the certificate: not expired, for this very name, with its whole chain.',
  },
  protocol_error: {
    summary: 'The answer is not valid HTTP.',
    advice: 'See that the port of the URL speaks HTTP/1.1, and that nothing else answers there.',
  },
  target_not_allowed: {
    summary: 'The target address is not allowed.',
    advice: 'Use a host that is reached on the public internet: its name resolves to an address that is not.',
  },
  interrupted: {
    summary: 'The worker ended while it was sending. The request may have arrived.',
    advice: 'Ignore repeats by `webhook-id`: the same event is sent again.',
  },
  internal: {
    summary: 'Something went wrong on our side.',
    advice: 'There is nothing you can do; the operator’s log says more.',
  },
};

export const UNKNOWN_ERROR_CLASS: Sentences = {
  summary: 'The request could not be sent.',
  advice: 'Check the URL, and whether the receiver is running.',
};

const STATUS_ADVICE: Record<number, string> = {
  400: 'The receiver does not understand the request. Compare `curl` with what it expects.',
  401: 'The receiver refuses the credential. Check the secret it verifies with, and that it asks for no login.',
  403: 'The receiver refuses the request. Check its firewall, its bot protection, and the secret it verifies with.',
  404: 'There is nothing under this URL. Check its path.',
  405: 'The receiver does not take this method under this URL. Check its path.',
  413: 'The receiver finds the request too large. Raise its limit.',
  415: 'The receiver does not take JSON. Check what it expects.',
  422: 'The receiver does not accept the content. Compare `curl` with what it expects.',
  429: 'The receiver asks for fewer requests. Its `Retry-After` is kept; raise its limit if this goes on.',
};

/** What to do about an answer with this status. */
export function adviceOfStatus(statusCode: number): string {
  const known = STATUS_ADVICE[statusCode];
  if (known) return known;
  return statusCode >= 500
    ? 'The receiver failed at it. Look into its log at the time of the attempt.'
    : 'Answer any 2xx to say that it has arrived.';
}

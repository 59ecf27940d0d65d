import { createHash, randomBytes } from 'node:crypto';
import type { Egress } from '../../../egress/egress.ts';
import { EgressError } from '../../../egress/egress-error.ts';
import type { TxtLookup } from '../../../egress/txt-lookup.ts';

export const CHALLENGE_PREFIX = '/.well-known/tollgate-challenge/';
/** Must be well below ten seconds, because someone may be waiting, and API requests time out after ten seconds. */
const HTTP_TIMEOUT_MILLISECONDS = 5_000;
const MAX_RESPONSE_BYTES = 1_024;

/** The result of checking a host. If another project has the name, only DNS can prove who owns it. */
export type Proof =
  | { outcome: 'proved'; by: 'DNS' | 'HTTP' }
  /** `unknown`: a failure that may be temporary. `blocked`: this server may not call the host's address. */
  | { outcome: 'missing' | 'unknown' | 'blocked'; problem: string };

export type HostProver = {
  /** Looks for the token at the host, in DNS and over HTTP. */
  prove(host: string, token: string): Promise<Proof>;
  /** Looks for the token only in DNS. */
  proveByDns(host: string, token: string): Promise<Proof>;
};

/** An unguessable token. Each project gets its own token for a host, so it proves only this project's claim. */
export const newHostToken = (): string => randomBytes(24).toString('base64url');

/** The TXT record that verifies a host. */
export const dnsRecordOf = (host: string, token: string) => ({
  name: `_tollgate.${host}`,
  value: `tollgate-verification=${token}`,
});

/**
 * The path on the host whose response must be the token. The path contains only the token's hash, so a server that
 * echoes the path in its responses doesn't pass the check.
 */
export const challengePathOf = (token: string): string =>
  CHALLENGE_PREFIX + createHash('sha256').update(token).digest('hex').slice(0, 32);

/** Creates the functions that check whether a host's owner has published a project's token. */
export function createHostProver(options: {
  egress: Pick<Egress, 'send'>;
  lookupTxt: TxtLookup;
  userAgent: string;
}): HostProver {
  const { egress, lookupTxt, userAgent } = options;

  async function proveByDns(host: string, token: string): Promise<Proof> {
    const { name, value } = dnsRecordOf(host, token);
    const records = await lookupTxt(name);
    if (!records) return { outcome: 'unknown', problem: `The name servers for ${name} didn't respond.` };
    if (records.includes(value)) return { outcome: 'proved', by: 'DNS' };
    const problem =
      records.length === 0
        ? `There is no TXT record at ${name}.`
        : `No TXT record at ${name} has this project's value.`;
    return { outcome: 'missing', problem };
  }

  async function proveByHttp(host: string, token: string): Promise<Proof> {
    try {
      const { statusCode, body } = await egress.send({
        method: 'GET',
        url: `https://${host}${challengePathOf(token)}`,
        headers: { 'user-agent': userAgent, accept: 'text/plain' },
        timeoutMilliseconds: HTTP_TIMEOUT_MILLISECONDS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      });
      if (statusCode === 200 && body.toString().trim() === token) return { outcome: 'proved', by: 'HTTP' };
      const found = statusCode === 200 ? 'a different body' : `status ${statusCode}`;
      const outcome = statusCode >= 500 ? 'unknown' : 'missing';
      return { outcome, problem: `The challenge URL responded with ${found}.` };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      return { outcome: outcomeOf(error), problem: `The challenge URL failed: ${error.message}` };
    }
  }

  return {
    proveByDns,
    async prove(host, token) {
      const [dns, http] = await Promise.all([proveByDns(host, token), proveByHttp(host, token)]);
      if (dns.outcome === 'proved') return dns;
      if (http.outcome === 'proved') return http;
      const outcome = dns.outcome === 'unknown' ? dns.outcome : http.outcome;
      return { outcome, problem: `${dns.problem} ${http.problem}` };
    },
  };
}

function outcomeOf({ errorClass, cause }: EgressError): 'missing' | 'unknown' | 'blocked' {
  if (errorClass === 'target_not_allowed') return 'blocked';
  const { code } = (cause ?? {}) as { code?: string };
  return errorClass === 'dns_error' && (code === 'ENOTFOUND' || code === 'ENODATA') ? 'missing' : 'unknown';
}

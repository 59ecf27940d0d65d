import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { z } from 'zod';

const MAX_LENGTH = 253;
// RFC 1123 §2.1: letters, digits and inner hyphens, at most 63 of them.
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * A host name that leads to a project, as it is stored: in lower case, international names in their ASCII form. No port,
 * no address, and none of the names under which the service itself is reached.
 *
 * @param reserved host names that may not be taken; undefined when the service does not know its own, so that none can
 */
export function gatewayHostInput(reserved: ReadonlySet<string> | undefined) {
  return z.string().transform((text, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    // The URL parser behind domainToASCII would read `%61`, `0x7f.1` and `a/b` as something else than they look.
    const host = /^[\p{L}\p{M}\p{N}.-]+$/u.test(text) ? domainToASCII(text) : '';
    const labels = host.split('.');
    if (host.length > MAX_LENGTH || labels.length < 2 || !labels.every((label) => LABEL.test(label)))
      return refuse('Must be a host name without scheme, port or path, for example "api.example.com".');
    if (isIP(host) !== 0 || /^\d+$/.test(labels.at(-1)!)) return refuse('Must be a name, not an address.');
    if (!reserved) return refuse('Host names are not offered here until the operator of this service sets PUBLIC_URL.');
    if (reserved.has(host)) return refuse('Is the name of this service.');
    return host;
  });
}

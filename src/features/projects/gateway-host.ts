import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { z } from 'zod';

const MAX_LENGTH = 253;
// RFC 1123 §2.1: at most 63 letters, digits, and inner hyphens.
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Normalizes a project's host name to its stored form: lowercase, and ASCII for international names. Rejects ports, IP
 * addresses, and the service's own host names.
 *
 * @param reserved the service's own host names. If undefined, they are unknown and every host name is rejected.
 */
export function gatewayHostInput(reserved: ReadonlySet<string> | undefined) {
  return z.string().transform((text, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    // The URL parser behind domainToASCII doesn't take `%61`, `0x7f.1` or `a/b` literally.
    const host = /^[\p{L}\p{M}\p{N}.-]+$/u.test(text) ? domainToASCII(text) : '';
    const labels = host.split('.');
    if (host.length > MAX_LENGTH || labels.length < 2 || !labels.every((label) => LABEL.test(label)))
      return refuse('Must be a host name without a scheme, port, or path, for example, "api.example.com".');
    if (isIP(host) !== 0 || /^\d+$/.test(labels.at(-1)!)) return refuse('Must be a host name, not an IP address.');
    if (!reserved)
      return refuse('Custom domains are not available until the operator of this service sets PUBLIC_URL.');
    if (reserved.has(host)) return refuse('This host name belongs to the service itself.');
    return host;
  });
}

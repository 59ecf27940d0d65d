import type { Interference } from '../connectors/support/vendors/server.ts';
import { basicOf, type VendorCall } from '../connectors/support/vendors/vendor.ts';

/** Response bodies in the formats of vendors' errors, with `text` in every text field. */
function bodiesSaying(text: string, more?: string): string[] {
  const row = { reason: text, message: text, location: text };
  const shapes: object[] = [
    {
      message: text,
      error: text,
      errors: [text],
      description: text,
      detail: text,
      name: text,
      code: text,
      field: text,
    },
    { Message: text, Detail: text, errorCode: text, failed_records: [{ field: text, message: text }] },
    { error: { code: text, message: text, status: text, errors: [row] } },
    { errors: [{ message: text, field: text, extensions: { code: text, userPresentableMessage: text } }] },
    { insertErrors: [{ index: 0, errors: [{ ...row, reason: 'invalid' }] }] },
    { Fault: { Error: [{ Message: text, Detail: text, code: text }], type: text } },
    { Elements: [{ ValidationErrors: [{ Message: text }] }] },
    { Invoices: [{ HasErrors: true, ValidationErrors: [{ Message: text }] }], tables: [{ owner: { handle: text } }] },
    { data: { issueCreate: { success: true, issue: { identifier: text } }, team: { name: text } } },
    { ok: false, error_code: 400, description: text, parameters: { migrate_to_chat_id: -100_123 } },
    { status: 'error', category: text, message: text, numErrors: 1, errors: [{ category: text, message: text }] },
    { Preferences: { CurrencyPrefs: { HomeCurrency: { value: text } } }, validationMessages: [{ description: text }] },
  ];
  const items = [{ message: text, errorCode: text, tenantId: text, ...(more && { more }) }];
  return [
    more ? `${text}\n${more}` : text,
    ...shapes.map((shape) => JSON.stringify({ ...shape, ...(more && { more }) })),
    JSON.stringify(items),
  ];
}

/** Error bodies that repeat a credential in several encodings, surrounded by other text. */
export function echoes(secrets: readonly string[]): string[] {
  const spellings = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(`user:${secret}`).toString('base64'),
    JSON.stringify(secret),
  ];
  const texts = secrets.flatMap(spellings).map((text) => `bad \u0000\n\u202E key ${text} ${'x'.repeat(500)}`);
  return texts.flatMap((text) => bodiesSaying(text));
}

/** Everything that a vendor was sent, as is and in every encoding that a careless vendor could send back. */
export function repeat(call: VendorCall): { plain: string; all: string } {
  const { url, headers, body } = call;
  const parts = [url.href, url.pathname, basicOf(call), ...Object.values(headers), body].filter(Boolean);
  const all = parts.flatMap((part) => [
    part,
    encodeURIComponent(part),
    new URLSearchParams({ part }).toString(),
    Buffer.from(part).toString('base64'),
    Buffer.from(`user:${part}`).toString('base64url'),
    JSON.stringify(part),
    JSON.stringify(JSON.stringify(part)),
    part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  ]);
  return { plain: `bad ${parts.join(' ')}`, all: all.join('\n') };
}

/** Creates vendors that repeat what they were sent: in all text in the body, in headers, and in the status text. */
export function createCarelessVendor(onResponse: (call: VendorCall, body: string) => void) {
  let count = 0;
  return (statusCode: number): Interference =>
    (call, response) => {
      const { plain, all } = repeat(call);
      const bodies = bodiesSaying(plain, all);
      const body = bodies[count++ % bodies.length]!;
      onResponse(call, body);
      const credential = call.headers.authorization ?? call.headers.apikey ?? call.url.pathname + call.url.search;
      const printable = credential.replace(/[^ -~]/g, '');
      response.writeHead(statusCode, `No ${printable}`, {
        'content-type': 'application/json',
        'x-echo': printable,
        'www-authenticate': `Bearer error="${encodeURIComponent(credential)}"`,
        location: call.url.href,
        'retry-after': encodeURIComponent(credential),
      });
      response.end(body);
      return undefined;
    };
}

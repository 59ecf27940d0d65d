import { basicOf, bodyOf, json, text, type Vendor } from './vendor.ts';

const pathCredential: Vendor['credentialIn'] = ({ url }) => url.pathname;
const bearer: Vendor['credentialIn'] = ({ headers }) => headers.authorization ?? '';

export const slack = (): Vendor => ({
  hosts: ['hooks.slack.com'],
  credentialIn: pathCredential,
  refuse: () => text(403, 'invalid_token'),
  vendorResponse(call) {
    // Slack checks the URL before the body.
    try {
      return bodyOf(call).text ? text(200, 'ok') : text(400, 'no_text');
    } catch {
      return text(400, 'invalid_payload');
    }
  },
});

export const discord = (): Vendor => ({
  hosts: ['discord.com'],
  credentialIn: pathCredential,
  refuse: () => json(401, { message: 'Invalid Webhook Token', code: 50027 }),
  vendorResponse(call) {
    if (!/^\/api\/v10\/webhooks\/\d+\/[\w-]+$/.test(call.url.pathname))
      return json(404, { message: '404: Not Found', code: 0 });
    if (call.method === 'GET') return json(200, { type: 1, id: '1234567890123456789', name: 'Payments' });
    const { embeds, thread_name, applied_tags } = bodyOf(call);
    if (!embeds?.[0]?.title) return json(400, { message: 'Cannot send an empty message', code: 50006 });
    if (thread_name && call.url.searchParams.has('thread_id'))
      return json(400, {
        message: 'Webhooks posted to forum channels cannot have both a thread_name and thread_id',
        code: 220002,
      });
    if (applied_tags && !thread_name)
      return json(400, { message: 'Webhooks can only create threads in forum channels', code: 220003 });
    return call.url.searchParams.get('wait') === 'true' ? json(200, { id: '42', embeds }) : { statusCode: 204 };
  },
});

export const sendgrid = (): Vendor => ({
  hosts: ['api.sendgrid.com', 'api.eu.sendgrid.com'],
  credentialIn: bearer,
  refuse: () =>
    json(401, {
      errors: [{ message: 'The provided authorization grant is invalid, expired, or revoked', field: null }],
    }),
  vendorResponse(call) {
    if (call.url.pathname === '/v3/scopes') return json(200, { scopes: ['mail.send'] });
    const { personalizations, content } = bodyOf(call);
    const isRight =
      personalizations.every(({ to }: { to: unknown[] }) => to.length === 1) && content[0].type === 'text/plain';
    if (!isRight) return json(400, { errors: [{ message: 'Bad mail', field: 'content' }] });
    return { statusCode: 202, headers: { 'x-message-id': 'm1' } };
  },
});

export const resend = (): Vendor => {
  const taken = new Map<string, string>();
  return {
    hosts: ['api.resend.com'],
    credentialIn: bearer,
    refuse: () => json(403, { statusCode: 403, name: 'invalid_api_key', message: 'API key is invalid' }),
    vendorResponse(call) {
      if (call.url.pathname === '/domains') return json(200, { data: [] });
      bodyOf(call);
      const key = call.headers['idempotency-key'] ?? '';
      const known = taken.get(key);
      if (known !== undefined && known !== call.body) {
        return json(409, { statusCode: 409, name: 'invalid_idempotent_request', message: 'Same key, other body' });
      }
      taken.set(key, call.body);
      return json(200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' });
    },
  };
};

export const telegram = (): Vendor => ({
  hosts: ['api.telegram.org'],
  credentialIn: pathCredential,
  refuse: () => json(401, { ok: false, error_code: 401, description: 'Unauthorized' }),
  vendorResponse(call) {
    const method = call.url.pathname.split('/').at(-1);
    if (method !== 'sendMessage') return json(200, { ok: true, result: { id: 1 } });
    const { chat_id, text: html, message_thread_id: topic } = bodyOf(call);
    if (!chat_id || !html)
      return json(400, { ok: false, error_code: 400, description: 'Bad Request: message text is empty' });
    // The General topic has no ID of its own.
    if (topic !== undefined && (!Number.isInteger(topic) || topic <= 1))
      return json(400, { ok: false, error_code: 400, description: 'Bad Request: message thread not found' });
    return json(200, { ok: true, result: { message_id: 7 } });
  },
});

export const teams = (): Vendor => ({
  hosts: ['default0123.45.environment.api.powerplatform.com'],
  credentialIn: ({ url }) => url.searchParams.get('sig') ?? '',
  refuse: () => json(401, { error: { code: 'DirectApiAuthorizationRequired', message: 'Sign in' } }),
  vendorResponse(call) {
    // A body that the flow can't use gets the same response, and the flow fails later.
    bodyOf(call);
    return { statusCode: 202 };
  },
});

export const twilio = (): Vendor => {
  const messages: { sid: string; body: string; to: string }[] = [];
  return {
    hosts: ['api.twilio.com', 'api.dublin.ie1.twilio.com'],
    credentialIn: basicOf,
    refuse: () => json(401, { code: 20003, message: 'Authenticate', status: 401 }),
    vendorResponse(call) {
      if (!/\/Accounts\/AC[0-9a-f]{32}(\/Messages)?\.json$/.test(call.url.pathname))
        return json(404, { code: 20404, message: 'The requested resource was not found', status: 404 });
      if (!call.url.pathname.endsWith('/Messages.json')) {
        // Only main keys can read the account.
        return basicOf(call).startsWith('SK')
          ? json(403, { code: 20003, message: 'Permission Denied', status: 403 })
          : json(200, { status: 'active' });
      }
      if (call.method === 'GET') return json(200, { messages });
      const form = new URLSearchParams(call.body);
      if (!form.get('To')?.startsWith('+')) return json(400, { code: 21211, message: 'Invalid To', status: 400 });
      const sid = `SM${messages.length}`;
      messages.unshift({ sid, body: form.get('Body') ?? '', to: form.get('To') ?? '' });
      return json(201, { sid, status: 'queued', error_code: null });
    },
  };
};

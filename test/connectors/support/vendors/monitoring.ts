import { bodyOf, json, type Vendor } from './vendor.ts';

export const pagerduty = (): Vendor => ({
  hosts: ['events.pagerduty.com', 'events.eu.pagerduty.com'],
  credentialIn: (call) => bodyOf(call).routing_key,
  refuse: () =>
    json(400, { status: 'invalid event', message: 'Event object is invalid', errors: ["Invalid 'routing_key'"] }),
  vendorResponse(call) {
    const { event_action: action, dedup_key: key, payload } = bodyOf(call);
    const isChange = call.url.pathname === '/v2/change/enqueue';
    const isRight = isChange || action === 'trigger' ? payload?.summary && payload.source : action === 'resolve' && key;
    if (!isRight) return json(400, { status: 'invalid event', errors: ["'payload' is missing"] });
    return json(202, { status: 'success', message: 'Event processed', ...(isChange ? {} : { dedup_key: key }) });
  },
});

export const datadog = (): Vendor => ({
  hosts: ['api.datadoghq.com', 'api.datadoghq.eu'],
  credentialIn: ({ headers }) => headers['dd-api-key'] ?? '',
  refuse: () => json(403, { errors: ['Forbidden'] }),
  vendorResponse(call) {
    if (call.url.pathname === '/api/v1/validate') return json(200, { valid: true });
    const { title, text } = bodyOf(call);
    if (!title || !text) return json(400, { errors: ['title and text are required'] });
    return json(202, { status: 'ok', event: { id: 1, title } });
  },
});

/** An account in the EU or in Jira Service Management. Other regions reject its key. */
export const opsgenie = (): Vendor => {
  const open = new Set<string>();
  const unauthenticated = () => json(401, { message: 'Could not authenticate', took: 0.001, requestId: 'r0' });
  return {
    hosts: ['api.opsgenie.com', 'api.eu.opsgenie.com', 'api.atlassian.com'],
    credentialIn: ({ headers }) => headers.authorization ?? '',
    refuse: unauthenticated,
    vendorResponse(call) {
      if (call.url.hostname === 'api.opsgenie.com') return unauthenticated();
      if (call.method === 'GET') return json(200, { data: [], took: 0.01, requestId: 'r1' });
      const accepted = json(202, { result: 'Request will be processed', took: 0.01, requestId: 'r2' });
      const alias = /\/alerts\/(?<alias>[^/]+)\/close$/.exec(call.url.pathname)?.groups?.alias;
      const body = bodyOf(call);
      if (alias)
        return open.delete(decodeURIComponent(alias)) ? accepted : json(404, { message: 'Alert does not exist' });
      if (!body.message) return json(422, { message: 'Message can not be empty.' });
      open.add(body.alias);
      return accepted;
    },
  };
};

import { basicOf, bodyOf, json, type Vendor } from './vendor.ts';

export const segment = (): Vendor => ({
  hosts: ['api.segment.io', 'events.eu1.segmentapis.com', 'cdn.segment.com'],
  credentialIn: (call) => `${basicOf(call)} ${call.url.pathname}`,
  // Events are accepted with any key. Only the settings of an unknown source return 404.
  refuse: ({ url }) => (url.hostname === 'cdn.segment.com' ? { statusCode: 404 } : undefined),
  vendorResponse(call) {
    if (call.url.hostname === 'cdn.segment.com') return json(200, { integrations: {} });
    const { userId, anonymousId, event } = bodyOf(call);
    if (!event || !(userId ?? anonymousId)) return json(400, { success: false, message: 'event is required' });
    return json(200, { success: true });
  },
});

export const mixpanel = (): Vendor => ({
  hosts: ['api.mixpanel.com', 'api-eu.mixpanel.com', 'api-in.mixpanel.com', 'mixpanel.com'],
  credentialIn: (call) => basicOf(call) || call.body,
  refuse: () => json(401, { code: 401, error: 'Unauthorized', status: 'Unauthorized' }),
  vendorResponse(call) {
    const events = bodyOf(call);
    if (call.url.hostname === 'mixpanel.com') return json(200, { status: 'ok' });
    return json(200, { code: 200, num_records_imported: events.length, status: 'OK' });
  },
});

export const amplitude = (): Vendor => ({
  hosts: ['api2.amplitude.com', 'api.eu.amplitude.com'],
  credentialIn: (call) => bodyOf(call).api_key,
  refuse: (call) => json(400, { code: 400, error: `Invalid API key: ${bodyOf(call).api_key}` }),
  vendorResponse(call) {
    const { events } = bodyOf(call);
    const isRight = events.every(
      ({ time, user_id: user }: { time: unknown; user_id: unknown }) => Number.isInteger(time) && user,
    );
    if (!isRight) return json(400, { code: 400, error: 'Bad event' });
    return json(200, { code: 200, events_ingested: events.length });
  },
});

export const ga4 = (): Vendor => ({
  hosts: ['www.google-analytics.com', 'region1.google-analytics.com'],
  credentialIn: ({ url }) => url.searchParams.get('api_secret') ?? '',
  refuse: () => undefined,
  vendorResponse(call) {
    bodyOf(call);
    return call.url.pathname.startsWith('/debug/') ? json(200, { validationMessages: [] }) : { statusCode: 204 };
  },
});

/** A valid body for every operation that takes one, by `operationId`. The OpenAPI document shows them as examples. */
export const BODY_EXAMPLES: Readonly<Record<string, object>> = {
  createProject: { name: 'Weather', walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045' },
  updateProject: { name: 'Weather and tides' },
  createEndpoint: {
    path: '/weather/:city',
    upstreamUrl: 'https://api.example.com/weather/:city',
    priceUsd: '0.01',
  },
  updateEndpoint: { priceUsd: '0.02' },
  createApiKey: { name: 'Deployment' },
  createConnector: {
    type: 'slack',
    config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/xxxxxxxxxxxxxxxxxxxxxxxx' },
    eventTypes: ['payment.settled'],
  },
  updateConnector: { isActive: false },
  testConnector: {},
  createWebhook: { url: 'https://example.com/tollgate', eventTypes: ['payment.settled', 'payment.failed'] },
  updateWebhook: { filter: { 'data.amountUsd': { gte: '1.00' } } },
  rotateWebhookSecret: { overlapHours: 24 },
  sendWebhookTestEvent: { eventType: 'payment.settled' },
  resendDelivery: {},
  createReplay: { filter: { status: ['FAILED'], eventTypes: ['payment.settled'] }, maxPerSecond: 20 },
  cancelReplay: {},
  markNoticesRead: {},
  updateContacts: { emails: ['ops@example.com'], weeklyDigest: true },
  testEventFilter: { filter: { 'data.amountUsd': { gte: '1.00' } } },
};

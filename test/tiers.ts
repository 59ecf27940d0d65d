/**
 * A test's tier depends on what it needs. The end of its file name says which tier it is in:
 *
 * - `x.test.ts` (unit): no database, no socket, no other process. Enforced by `test/support/unit-guard.ts`.
 * - `x.fuzz.test.ts`: like a unit test, but takes longer: thousands of generated inputs, or very large ones.
 * - `x.service.test.ts`: needs a database, a socket, or a process.
 * - `x.browser.test.ts`: needs those and Chromium.
 * - `x.chaos.test.ts`: kills processes under load.
 * - `x.timing.test.ts`: measures real time, so nothing else may run beside it.
 */
const SERVICE_TIERS = ['service', 'browser', 'chaos', 'timing'];

/**
 * What `npm test` runs besides the unit tests: one or two files for each mechanism, to find out within minutes whether
 * it works. `npm run test:all` also runs everything else.
 */
export const CORE: Readonly<Record<string, readonly string[]>> = {
  'quick start': ['test/app/first-walk.service.test.ts', 'test/docs/demo.service.test.ts'],
  'start and shutdown': [
    'test/cli/start.service.test.ts',
    'test/http/drain.service.test.ts',
    'test/roles/sweeps.service.test.ts',
  ],
  database: [
    'test/database/migrations.service.test.ts',
    'test/database/partitions.service.test.ts',
    'test/database/schema.service.test.ts',
    'test/scripts/statements.service.test.ts',
    'test/bus/bus.service.test.ts',
    'test/database/outage.service.test.ts',
    'test/http/database-lost.service.test.ts',
  ],
  authentication: [
    'test/auth/jwt.service.test.ts',
    'test/auth/jwks.service.test.ts',
    'test/auth/viewer.service.test.ts',
    'test/features/api-keys/api-keys.service.test.ts',
  ],
  isolation: [
    'test/conformance/isolation.service.test.ts',
    'test/auth/access.service.test.ts',
    'test/auth/wall.service.test.ts',
  ],
  'members and operators': [
    'test/features/members/members.service.test.ts',
    'test/features/operator/operator.service.test.ts',
  ],
  REST: [
    'test/rest/routes.service.test.ts',
    'test/rest/bodies.service.test.ts',
    'test/rest/paging.service.test.ts',
    'test/rest/idempotency.service.test.ts',
  ],
  GraphQL: [
    'test/graphql/http.service.test.ts',
    'test/graphql/limits.service.test.ts',
    'test/graphql/plain-requests.service.test.ts',
    'test/schema/statement-counts.service.test.ts',
  ],
  subscriptions: [
    'test/conformance/graphql-transport-ws.service.test.ts',
    'test/conformance/graphql-sse.service.test.ts',
    'test/live/subscriptions.service.test.ts',
  ],
  'endpoints, discovery, and imports': [
    'test/features/endpoints/endpoints.service.test.ts',
    'test/gateway/discovery/discovery.service.test.ts',
    'test/features/imports/openapi/read-document.service.test.ts',
  ],
  'routing and upstreams': [
    'test/gateway/routing/route-table.service.test.ts',
    'test/gateway/upstream/proxy.service.test.ts',
    'test/gateway/upstream/credentials.service.test.ts',
    'test/gateway/methods.service.test.ts',
    'test/gateway/free.service.test.ts',
  ],
  'paid path': [
    'test/gateway/sandbox.service.test.ts',
    'test/gateway/payment/pay.service.test.ts',
    'test/gateway/payment/settle.service.test.ts',
    'test/gateway/payment/recovery.service.test.ts',
    'test/gateway/payment/exceptions.service.test.ts',
    'test/gateway/chain/chain.service.test.ts',
    'test/gateway/chain/facilitator.service.test.ts',
    'test/conformance/payments-refused.service.test.ts',
    'test/conformance/payments-kinds.service.test.ts',
  ],
  'payments and revenue': [
    'test/features/payments/payments.service.test.ts',
    'test/features/payments/ledger.service.test.ts',
    'test/features/revenue/revenue.service.test.ts',
  ],
  events: ['test/features/events/recording.service.test.ts', 'test/events/versions.service.test.ts'],
  webhooks: ['test/features/webhooks/webhooks.service.test.ts', 'test/delivery/send/webhook-delivery.service.test.ts'],
  connectors: [
    'test/features/connectors/connectors.service.test.ts',
    'test/connectors/end-to-end/every-type.service.test.ts',
    'test/delivery/send/connector-delivery.service.test.ts',
  ],
  delivery: [
    'test/delivery/worker.service.test.ts',
    'test/delivery/queue/queue.service.test.ts',
    'test/delivery/queue/leases.service.test.ts',
    'test/delivery/queue/ordering.service.test.ts',
    'test/delivery/outcome/recorder.service.test.ts',
    'test/delivery/outcome/health.service.test.ts',
  ],
  replays: ['test/delivery/replay/runner.service.test.ts', 'test/features/replays/service.service.test.ts'],
  notices: ['test/features/notices/sending.service.test.ts'],
  egress: [
    'test/egress/guard.service.test.ts',
    'test/egress/doors.service.test.ts',
    'test/egress/proxy.service.test.ts',
  ],
  limits: ['test/limits/requests.service.test.ts'],
  'audit log and secrets': ['test/features/audit/audit.service.test.ts', 'test/secrets/rotate.service.test.ts'],
  'search and exports': ['test/features/search/search.service.test.ts', 'test/rest/export/export.service.test.ts'],
  'metrics and traces': ['test/metrics/metrics.service.test.ts', 'test/tracing/traces.service.test.ts'],
  'command line and SDK': [
    'test/cli/listen.service.test.ts',
    'test/cli/whoami.service.test.ts',
    'test/sdk/requests.service.test.ts',
  ],
  console: ['test/http/console.service.test.ts', 'test/console/journey.browser.test.ts'],
};

const isCore = process.env.TEST_SELECTION === 'core';
const isAll = process.env.TEST_SELECTION === 'all';

/**
 * In `npm run test:all`, groups of tiers run one after the other. The tests of the first group keep the processor busy,
 * and those of the second one wait most of the time. Nothing may run beside the third.
 */
const GROUPS = [
  { tiers: ['unit', 'fuzz', 'browser', 'chaos'], maxWorkers: 6 },
  { tiers: ['service'], maxWorkers: 8 },
  { tiers: ['timing'], maxWorkers: 1 },
];

/** The options that put a tier in its group. */
function inGroup(tier: string) {
  const index = GROUPS.findIndex(({ tiers }) => tiers.includes(tier));
  if (!isAll && tier !== 'timing') return {};
  return { maxWorkers: GROUPS[index]!.maxWorkers, sequence: { groupOrder: index } };
}

const filesOf = (tier: string) => `test/**/*.${tier}.test.ts`;

const isOfTier = (file: string, tier: string) => file.endsWith(`.${tier}.test.ts`);

/** Tests without lasting effects can share a process and its loaded modules. */
function inOneProcess(test: { name: string; include: string[]; exclude?: string[] }) {
  const options = { ...test, ...inGroup(test.name), isolate: false, setupFiles: ['test/support/unit-guard.ts'] };
  return { extends: true as const, test: options };
}

function withServices(tier: string) {
  const include = isCore
    ? Object.values(CORE)
        .flat()
        .filter((file) => isOfTier(file, tier))
    : [filesOf(tier)];
  return {
    extends: true as const,
    test: {
      name: tier,
      include,
      globalSetup: ['test/support/global-setup.ts'],
      // Loading the modules and starting the first service takes longer than most files.
      isolate: tier !== 'service' && tier !== 'browser',
      // Each kill is followed by the start of a new process, and the machine may be slow.
      ...(tier === 'chaos' && { testTimeout: 3_600_000, expect: { poll: { timeout: 600_000 } } }),
      ...inGroup(tier),
    },
  };
}

/** The Vitest projects, one per tier. */
export const PROJECTS = [
  inOneProcess({ name: 'unit', include: ['test/**/*.test.ts'], exclude: ['fuzz', ...SERVICE_TIERS].map(filesOf) }),
  ...(isCore ? [] : [inOneProcess({ name: 'fuzz', include: [filesOf('fuzz')] })]),
  ...SERVICE_TIERS.map(withServices).filter(({ test }) => test.include.length > 0),
];

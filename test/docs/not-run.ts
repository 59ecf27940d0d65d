/** Why no test runs these shell blocks as written, by page and first line. The blocks are marked `no-run`. */
export const NOT_RUN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'CONTRIBUTING.md': {
    'npm run dev          # the service, restarted on every change': 'runs until it is stopped',
    'npm run test:unit                # takes seconds and needs no PostgreSQL': 'runs the tests themselves',
    'cp schema.graphql docs/openapi.json docs/event-schemas.json test/compatibility/released/': 'changes the clone',
    "last=$(ls prisma/migrations | grep -E '^[0-9]{14}_' | tail -1)": 'changes the clone',
    'npm pack': 'test/scripts/package.service.test.ts runs it',
  },
  'README.md': {
    'npm start': 'the service is already running',
    'npm test': 'runs the tests themselves',
    'npx tollgate demo': 'test/docs/demo.service.test.ts runs it',
  },
  'docs/buyers.md': {
    'export PRIVATE_KEY=0x…': 'needs your own wallet',
    'npm install @x402/core @x402/evm @x402/fetch viem': 'installs packages into a project of yours',
    'npm install @x402/axios @x402/evm axios viem': 'installs packages into a project of yours',
    "pip install 'x402[evm,requests]'": 'installs packages into a project of yours',
    'go get github.com/x402-foundation/x402/go/v2': 'installs packages into a project of yours',
  },
  'docs/cli.md': {
    'export TOLLGATE_API_KEY=tg_live_…': 'needs your own key',
    'npx tollgate start': 'the service is already running',
    'npx tollgate members update bob@example.com --role admin':
      'needs someone who accepts; test/cli/members.service.test.ts runs it',
    'npx tollgate demo': 'test/docs/demo.service.test.ts runs it',
    'npx tollgate mcp': 'test/cli/mcp runs it',
    'npx tollgate doctor': 'test/cli/doctor.service.test.ts runs it',
    'npx tollgate hold': 'test/roles/hold.service.test.ts runs it',
    'npx tollgate adopt': 'test/roles/hold.service.test.ts runs it',
    'tollgate completion bash >> ~/.bashrc': 'test/cli/completion.service.test.ts runs it',
  },
  'docs/connectors/hubspot.md': {
    'curl https://api.hubapi.com/crm/properties/2026-03/contacts/batch/create \\': 'needs an account at HubSpot',
  },
  'docs/deployment.md': {
    'install -m 600 /dev/null .env': 'needs Docker',
    'gateway=$(docker inspect --format \'{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}\' "$(docker compose ps --quiet api)")':
      'needs Docker',
    "docker buildx imagetools inspect node:24.21.0-slim --format '{{.Manifest.Digest}}'": 'needs Docker',
    'npm pack': 'test/scripts/package.service.test.ts runs it',
    'npm install --prefix /opt/tollgate ./tollgate-0.1.0.tgz': 'test/scripts/package.service.test.ts runs it',
    'npm install ./tollgate-0.1.0.tgz': 'test/scripts/package.service.test.ts runs it',
    'sudo install -m 600 -D tollgate.env /etc/tollgate/tollgate.env': 'needs systemd',
    'npm run build': 'test/scripts/build.service.test.ts runs it',
    'kubectl create secret generic tollgate --from-literal=DATABASE_URL=\'postgres://…\' --from-literal=SECRET_KEYS="k1:$(openssl rand -base64 32)"':
      'needs a cluster',
  },
  'docs/discovery.md': {
    'npx @agentcash/discovery https://api.example.com': 'needs a domain on the internet',
  },
  'docs/exports.md': {
    'curl -sS --fail -H "Authorization: Bearer $TOKEN" "$TOLLGATE/api/projects/$PROJECT/payments/export?after=$LAST_ID" >> payments.csv':
      'needs an export that was cut off; test/rest/export/export.service.test.ts continues one',
  },
  'docs/first-connector.md': {
    'SLACK_URL=https://hooks.slack.com/services/T…/B…/…': 'needs a Slack workspace of your own',
  },
  'docs/get-started.md': { 'npm start': 'the service is already running' },
  'docs/mcp-endpoints.md': {
    'npm install @modelcontextprotocol/sdk @x402/core @x402/evm @x402/fetch viem':
      'installs packages into a project of yours',
  },
  'docs/operations.md': {
    'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 npm start': 'the service is already running',
    'pg_dump --format=custom --file=tollgate.dump "$DATABASE_URL"':
      'test/conformance/backup-restore.service.test.ts runs it',
    'pg_restore --no-owner --exit-on-error --dbname="$DATABASE_URL" tollgate.dump':
      'test/conformance/backup-restore.service.test.ts runs it',
    'npx tollgate adopt': 'test/conformance/backup-restore.service.test.ts runs it',
    'npx tollgate hold': 'test/roles/hold.service.test.ts runs it',
    'psql "$DATABASE_URL" --command "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class WHERE relispartition AND relkind = \'r\' ORDER BY relname"':
      "needs PostgreSQL's own programs",
  },
  'docs/webhooks.md': {
    'WEBHOOK_SECRET=whsec_… bash again.sh': 'test/features/deliveries/explanation/curl.service.test.ts runs it',
  },
};

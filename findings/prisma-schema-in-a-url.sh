#!/usr/bin/env bash
# One database URL, `…/db?schema=billing`, given to three packages.
#
# Expected: Prisma documents `schema` for its PostgreSQL URLs, so Prisma's own adapter for pg reads it, or rejects it.
#
# Seen: the adapter ignores it, so tables are looked up wherever the server's `search_path` points, which is usually
# `public`. Only the adapter's own option `schema` has an effect. pg ignores the parameter too, without a warning.
# postgres sends it to the server as a setting, which PostgreSQL doesn't have and refuses.
#
# What follows: a service that moves from Prisma's engine to the adapter quietly moves to another schema. Read the
# parameter yourself, or refuse URLs that have it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @prisma/adapter-pg@7.10.0 pg@8.23.1 postgres@3.4.9
cat > run.mjs <<'JS'
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import postgres from 'postgres';

const connectionString = 'postgres://me@127.0.0.1:5432/db?schema=billing';
const schemaOf = async (...options) => (await new PrismaPg({ connectionString }, ...options).connect()).getConnectionInfo().schemaName ?? null;
const seen = {
  adapter: await schemaOf(),
  adapterWithOption: await schemaOf({ schema: 'billing' }),
  pg: JSON.stringify(new pg.Client({ connectionString }).getStartupConf()).includes('billing'),
  postgres: postgres(connectionString).options.connection.schema,
};
const expected = { adapter: null, adapterWithOption: 'billing', pg: false, postgres: 'billing' };
console.log('@prisma/adapter-pg 7.10.0, pg 8.23.1, postgres 3.4.9, Node', process.versions.node);
console.log('schema that the adapter uses:              ', seen.adapter ?? 'none');
console.log('schema that the adapter uses by its option:', seen.adapterWithOption);
console.log('whether pg sends it to the server:         ', seen.pg);
console.log('setting "schema" that postgres sends:      ', seen.postgres);
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs

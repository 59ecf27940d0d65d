import { delimiter, resolve } from 'node:path';
import { defineConfig } from 'prisma/config';

// The Prisma CLI insists on a schema engine, which it downloads, before it runs anything. These commands never call it, so
// any executable satisfies them. All other commands must fail instead: with this stand-in, `migrate` would do nothing
// and exit with 0.
const COMMANDS_WITHOUT_ENGINE = ['generate', 'validate', 'format'];

if (COMMANDS_WITHOUT_ENGINE.includes(process.argv[2] ?? '')) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
}

// The CLI looks for generators on the PATH. npm scripts add them to it, but direct calls to the CLI don't.
process.env.PATH = [resolve(import.meta.dirname, 'node_modules/.bin'), process.env.PATH].join(delimiter);

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
});

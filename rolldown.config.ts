import { defineConfig } from 'rolldown';
import { escapeNonAscii } from './scripts/ascii-bundle.ts';
import { listPackages } from './scripts/bundled-packages.ts';

/** Bundles the server and the command line with their packages to dist/server, for production and for the npm package. */
export default defineConfig({
  input: {
    main: 'src/main.ts',
    cli: 'src/cli/main.ts',
    'rotate-secrets': 'scripts/rotate-secrets.ts',
    'openapi-reader': 'src/features/imports/openapi/openapi-reader.ts',
  },
  platform: 'node',
  plugins: [listPackages('packages.json'), escapeNonAscii()],
  // The driver tries to load pg-native, but also works without it.
  external: ['pg-native'],
  output: {
    // The code finds migrations and the console relative to itself, so these files must be as far from the root as they
    // are in src/.
    dir: 'dist/server',
    cleanDir: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    // V8 keeps the text of every loaded file in memory.
    comments: false,
  },
});

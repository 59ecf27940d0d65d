import { defineConfig } from 'rolldown';

/** Bundles the server with its packages to dist/server, for production. */
export default defineConfig({
  input: ['src/main.ts', 'scripts/rotate-secrets.ts'],
  platform: 'node',
  // The sandbox runs only from source. The driver tries to load pg-native, and works without it.
  external: [/\/sandbox\.ts$/, 'pg-native'],
  output: {
    // The code finds migrations and the console relative to itself, so these files are as far from the root as in src/.
    dir: 'dist/server',
    cleanDir: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    // V8 keeps the text of every loaded file in memory.
    comments: false,
  },
});

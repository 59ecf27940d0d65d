import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { listPackages } from './scripts/bundled-packages.ts';
import { listConsoleReads } from './scripts/console-documents.ts';

/** The server that `npm start` runs, which gets the API calls from `npm run dev:console`. */
const SERVER = `http://127.0.0.1:${process.env.PORT || 4000}`;

/** Builds the web console to dist/console; the server serves it from there. */
export default defineConfig({
  root: 'src/console',
  base: '/console/',
  plugins: [react(), listPackages('.vite/packages.json'), listConsoleReads('.vite/reads.json')],
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    manifest: true,
    // Inlined files would be `data:` URLs, which the content security policy allows only for images.
    assetsInlineLimit: 0,
    // Scripts load fast enough on their own; the polyfill would add one more.
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      '/graphql': { target: SERVER, ws: true },
      '/api': SERVER,
      '/console/config.json': SERVER,
      '/console/dev-token': SERVER,
    },
  },
});

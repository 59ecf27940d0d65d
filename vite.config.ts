import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm start` serves, for the calls of `npm run dev:console`. */
const SERVER = `http://127.0.0.1:${process.env.PORT || 4000}`;

/** Builds the web console to dist/console; the server serves it from there. */
export default defineConfig({
  root: 'src/console',
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    manifest: true,
    // Inlined files would be `data:` URLs, which the content security policy refuses for all but images.
    assetsInlineLimit: 0,
    // Scripts load by themselves in time; the polyfill would be one more.
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

/** Builds the console into build/console; scripts/build-console runs it. */
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { compressCopies } from '../../scripts/compress-copies.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// The oldest versions with light-dark(), :has() and native dialogs.
const browsers = ['chrome123', 'firefox121', 'safari17.5'];

function compressedCopies(): Plugin {
  let folder = '';
  return {
    name: 'compressed-copies',
    apply: 'build',
    configResolved: (config) => {
      folder = config.build.outDir;
    },
    closeBundle: () => compressCopies(folder),
  };
}

export default defineConfig({
  root: here('.'),
  base: '/console/',
  publicDir: here('public'),
  cacheDir: here('../../node_modules/.vite'),
  plugins: [react(), compressedCopies()],
  build: {
    outDir: here('../../build/console'),
    emptyOutDir: true,
    target: browsers,
    cssTarget: browsers,
    // The content security policy of the service forbids inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    // A test limits the first load to 250 kB, compressed.
    chunkSizeWarningLimit: 700,
  },
  // `vite dev` against a running service: REELMEND_URL=http://127.0.0.1:8080
  server: { proxy: { '/console/api': { target: process.env['REELMEND_URL'] ?? 'http://127.0.0.1:8080' } } },
});

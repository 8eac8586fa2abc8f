/** Builds the console into build/console; scripts/build-console runs it. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// The oldest versions with light-dark(), :has() and native dialogs.
const browsers = ['chrome123', 'firefox121', 'safari17.5'];

/** Writes a compressed copy beside each file, so that the service does not compress at every request. */
function compressedCopies(): Plugin {
  let folder = '';
  return {
    name: 'compressed-copies',
    apply: 'build',
    configResolved: (config) => {
      folder = config.build.outDir;
    },
    closeBundle() {
      for (const name of globSync('**/*.{js,css,svg,html}', { cwd: folder })) {
        const bytes = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
      }
    },
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

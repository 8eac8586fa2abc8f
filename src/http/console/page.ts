/** Serves the built console: its files, and its one HTML document at every path that its router knows. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import type { ConsoleDeps } from '../deps.ts';
import type { App, AppEnv } from '../env.ts';
import { createStaticFiles, extensionOf, nothingHere } from '../static-files.ts';

const prefix = '/console/';

/** Allows other hosts for videos and parts of uploads only (those of a bucket), and no inline script or style. */
function policyOf(mediaOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${["'self'", 'data:', 'blob:', ...mediaOrigins].join(' ')}`,
    `media-src ${["'self'", 'blob:', ...mediaOrigins].join(' ')}`,
    `connect-src ${["'self'", ...mediaOrigins].join(' ')}`,
    "font-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Registers GET and HEAD of /console and everything below it, except the operations at /console/api. */
export function registerConsolePage(app: App, { pageDir, mediaOrigins, signUp }: ConsoleDeps): void {
  const policy = policyOf(mediaOrigins);
  const files = createStaticFiles({ dir: pageDir, policy });
  const page = (c: Context<AppEnv>) =>
    signUp === 'closed' ? documentWithoutSignUp(c, { index: join(pageDir, 'index.html'), policy }) : files.file(c, 'index.html', notBuilt);

  // For people who type only the host name of the service.
  app.get('/', (c) => c.redirect('console/', 302));
  app.get('/console', page);
  app.get('/console/*', async (c) => {
    const path = c.req.path.slice(prefix.length);
    if (path === 'api' || path.startsWith('api/')) throw nothingHere();
    return extensionOf(path) === undefined || path === 'index.html' ? page(c) : files.file(c, path);
  });
}

const notBuilt = () => new ReelmendError('not_found', 'The console is not built: run scripts/bootstrap.');

/**
 * The document with a mark that tells the page to offer no sign-up (src/console/pages/sign-in.tsx). It is sent
 * uncompressed: the compressed files of the build lack the mark.
 */
async function documentWithoutSignUp(c: Context<AppEnv>, { index, policy }: { index: string; policy: string }): Promise<Response> {
  const document = await readFile(index, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? notBuilt() : error;
  });
  const marked = document.replace('<html', '<html data-sign-up="closed"');
  return c.body(marked, 200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'Cache-Control': 'no-cache',
    Vary: 'Accept-Encoding',
  });
}

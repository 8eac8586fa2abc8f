/** Serves the built page: its files, and its one document at every address that the page's own router knows. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Context, MiddlewareHandler } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import type { ConsoleDeps } from '../deps.ts';
import type { App, AppEnv } from '../env.ts';

/** The path of a file that cannot leave the folder (no empty, hidden or parent segment), and its extension. */
const filePath = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\.([a-z0-9]+)$/;
/** Other files of the build, compressed ones among them, have no address of their own. */
const servedExtensions = new Set(['html', 'js', 'css', 'svg', 'png', 'ico', 'woff2', 'json', 'webmanifest', 'txt', 'mp4']);
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
  const index = join(pageDir, 'index.html');
  const files = serveStatic({ rewriteRequestPath: (path) => join(pageDir, path.slice(prefix.length)), precompressed: true });
  const document = serveStatic({ path: index, precompressed: true });
  const policy = policyOf(mediaOrigins);
  const page = async (c: Context<AppEnv>) =>
    withHeaders(await (signUp === 'closed' ? documentWithoutSignUp(c, index) : found(c, document, notBuilt)), policy);

  // For people who type the host name of the service and nothing more.
  app.get('/', (c) => c.redirect('console/', 302));
  app.get('/console', page);
  app.get('/console/*', async (c) => {
    const path = c.req.path.slice(prefix.length);
    if (path === 'api' || path.startsWith('api/')) throw notFound();
    const [, extension] = filePath.exec(path) ?? [];
    if (extension === undefined || path === 'index.html') return page(c);
    if (!servedExtensions.has(extension)) throw notFound();
    return withHeaders(await found(c, files, notFound), policy, path.startsWith('assets/'));
  });
}

const notFound = () => new ReelmendError('not_found', 'There is nothing at this path.');
const notBuilt = () => new ReelmendError('not_found', 'The console is not built: run scripts/bootstrap.');

/** The file as a response; throws `missing` when there is none. */
async function found(c: Context<AppEnv>, files: MiddlewareHandler, missing: () => ReelmendError): Promise<Response> {
  let exists = true;
  const response = await files(c, async () => void (exists = false));
  if (!exists || !(response instanceof Response)) throw missing();
  return response;
}

function withHeaders(response: Response, policy: string, isHashed = false): Response {
  response.headers.set('Content-Security-Policy', policy);
  // The bundler puts a hash of the content into the names of assets.
  response.headers.set('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
  response.headers.set('Vary', 'Accept-Encoding');
  return response;
}

/**
 * The document with a mark that tells the page to offer no sign-up (src/console/pages/gate.tsx). It is sent
 * uncompressed: the compressed files of the build lack the mark.
 */
async function documentWithoutSignUp(c: Context<AppEnv>, index: string): Promise<Response> {
  const document = await readFile(index, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? notBuilt() : error;
  });
  const marked = document.replace('<html', '<html data-sign-up="closed"');
  return c.body(marked, 200, { 'Content-Type': 'text/html; charset=utf-8' });
}

/** The built page: its files as they are, and its one document for every address that the page itself knows. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import type { App } from '../app.ts';
import type { AppEnv } from '../env.ts';
import type { ConsoleDeps } from './deps.ts';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  txt: 'text/plain; charset=utf-8',
  mp4: 'video/mp4',
};
/** A path below the folder that can lead nowhere else: no empty, hidden or parent part. */
const filePath = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\.([a-z0-9]+)$/;
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Nothing from other hosts but the videos of a bucket, and no inline script or style. */
function policyOf(mediaOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `media-src ${["'self'", 'blob:', ...mediaOrigins].join(' ')}`,
    "connect-src 'self'",
    "font-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Registers GET (and HEAD) of /console and what lies below it, behind the operations at /console/api. */
export function registerConsolePage(app: App, { pageDir, mediaOrigins, signUp }: ConsoleDeps): void {
  const page: Page = { pageDir, policy: policyOf(mediaOrigins), signUp };
  // Where somebody arrives who types the address of the service and nothing more.
  app.get('/', (c) => c.redirect('console/', 302));
  app.get('/console', (c) => answer(c, 'index.html', page));
  app.get('/console/*', (c) => {
    const path = c.req.path.slice('/console/'.length);
    if (path.startsWith('api/') || path === 'api') throw notFound();
    // What looks like a file is one; every other address belongs to the page, whose document finds its way.
    return answer(c, filePath.test(path) ? path : 'index.html', page);
  });
}

const notFound = () => new ReelmendError('not_found', 'There is nothing at this address.');

interface Page extends Pick<ConsoleDeps, 'pageDir' | 'signUp'> {
  policy: string;
}

async function answer(c: Context<AppEnv>, path: string, page: Page): Promise<Response> {
  const extension = filePath.exec(path)?.[1] ?? '';
  const type = types[extension];
  if (type === undefined) throw notFound();
  const marked = path === 'index.html' && page.signUp === 'closed';
  // A document that is marked here is sent plain: it is small, and the build's compressed forms are of another.
  const accepted = marked ? [] : acceptedEncodings(c.req.header('Accept-Encoding'));
  const file = await readFirst(page.pageDir, path, accepted);
  if (file === null) {
    if (path !== 'index.html') throw notFound();
    throw new ReelmendError('not_found', 'The console is not built: run scripts/bootstrap.');
  }
  // The bundler puts a hash of the content into the names of assets.
  const lasting = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
  return c.body(marked ? withoutSignUp(file.content) : file.content, 200, {
    'Content-Type': type,
    'Content-Security-Policy': page.policy,
    'Cache-Control': lasting,
    Vary: 'Accept-Encoding',
    ...(file.encoding === undefined ? {} : { 'Content-Encoding': file.encoding }),
  });
}

/** Tells the page before anybody has signed in that it has no sign-up to offer (src/console/pages/gate.tsx). */
function withoutSignUp(document: Uint8Array): string {
  return new TextDecoder().decode(document).replace('<html', '<html data-sign-up="closed"');
}

function acceptedEncodings(header = ''): (typeof encodings)[number][] {
  const named = new Set(
    header
      .toLowerCase()
      .split(',')
      .map((part) => part.trim())
      .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
      .map((part) => part.split(';')[0]!.trim()),
  );
  return encodings.filter(([name]) => named.has(name));
}

interface PageFile {
  content: Uint8Array<ArrayBuffer>;
  encoding: string | undefined;
}

/** The smallest form that the browser takes and the build has made; null when there is no such file. */
async function readFirst(
  folder: string,
  path: string,
  accepted: readonly (typeof encodings)[number][],
): Promise<PageFile | null> {
  for (const [encoding, suffix] of [...accepted, [undefined, ''] as const]) {
    const content = await readFile(join(folder, `${path}${suffix}`)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EISDIR') return null;
      throw error;
    });
    if (content !== null) return { content: new Uint8Array(content), encoding };
  }
  return null;
}

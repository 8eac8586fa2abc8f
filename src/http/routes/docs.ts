/** The documents: pages and files built by scripts/build-docs. */
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import type { HttpDeps } from '../deps.ts';
import type { App, AppEnv } from '../env.ts';
import type { Handlers } from '../register.ts';
import { createStaticFiles, extensionOf, type StaticFiles } from '../static-files.ts';

/** Forbids other hosts, and inline scripts and styles. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const prefix = '/docs/';
const notBuilt = () => new ReelmendError('not_found', 'The documents are not built: run scripts/bootstrap.');
const filesOf = ({ docsDir }: HttpDeps): StaticFiles | undefined =>
  docsDir === undefined ? undefined : createStaticFiles({ dir: docsDir, policy });

export function docsHandlers(deps: HttpDeps): Pick<Handlers, 'getDocs'> {
  const files = filesOf(deps);
  return {
    getDocs: async (c) => {
      if (files === undefined) throw notBuilt();
      // The type of a file's response cannot be derived; the tests compare it with the contract.
      return (await files.file(c, 'index.html', notBuilt)) as never;
    },
  };
}

/** Registers GET and HEAD of everything below /docs. URLs of pages have no `.html`. */
export function registerDocs(app: App, deps: HttpDeps): void {
  const files = filesOf(deps);
  if (files === undefined) return;
  app.get('/docs/*', async (c) => {
    const path = c.req.path.slice(prefix.length).replace(/\/$/, '');
    if (path === '') return c.redirect('/docs', 301);
    if (extensionOf(path) !== undefined) return files.file(c, path);
    return pageOf(c, files, path);
  });
}

/** A page that does not exist: browsers get the 404 page, programs the error. */
async function pageOf(c: Context<AppEnv>, files: StaticFiles, path: string): Promise<Response> {
  try {
    return await files.file(c, `${path}.html`);
  } catch (error) {
    const isPerson = (c.req.header('Accept') ?? '').includes('text/html');
    if (!isPerson || !(error instanceof ReelmendError) || error.code !== 'not_found') throw error;
    const page = await files.file(c, '404.html');
    return new Response(page.body, { status: 404, headers: page.headers });
  }
}

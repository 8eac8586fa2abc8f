/** Serves the files of a page that was built into a folder (the console, the documents). */
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Context, MiddlewareHandler } from 'hono';
import { ReelmendError } from '../domain/errors.ts';
import type { AppEnv } from './env.ts';

/** The path of a file that cannot leave the folder (no empty, hidden or parent segment), and its extension. */
const filePath = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\.([a-z0-9]+)$/;
/** Other files of the build, such as compressed copies, are not served under their own paths. */
const servedExtensions = new Set(['html', 'js', 'css', 'svg', 'png', 'webp', 'ico', 'woff2', 'json', 'webmanifest', 'txt', 'mp4']);

/** The extension of a path that may be a file; undefined for the others. */
export const extensionOf = (path: string): string | undefined => filePath.exec(path)?.[1];

export interface StaticFiles {
  /** responds with a file of the folder; throws `missing` if there is none */
  file(c: Context<AppEnv>, path: string, missing?: () => ReelmendError): Promise<Response>;
}

export const nothingHere = () => new ReelmendError('not_found', 'There is nothing at this path.');

export interface StaticFilesOptions {
  dir: string;
  /** the Content-Security-Policy of every response */
  policy: string;
}

export function createStaticFiles({ dir, policy }: StaticFilesOptions): StaticFiles {
  return {
    async file(c, path, missing = nothingHere) {
      const extension = extensionOf(path);
      if (extension === undefined || !servedExtensions.has(extension)) throw missing();
      const response = await found(c, serveStatic({ path: join(dir, path), precompressed: true }), missing);
      response.headers.set('Content-Security-Policy', policy);
      // The bundlers put a hash of the content into the names of assets.
      const isHashed = path.startsWith('assets/');
      response.headers.set('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      response.headers.set('Vary', 'Accept-Encoding');
      return response;
    },
  };
}

async function found(c: Context<AppEnv>, files: MiddlewareHandler, missing: () => ReelmendError): Promise<Response> {
  let exists = true;
  const response = await files(c, async () => void (exists = false));
  if (!exists || !(response instanceof Response)) throw missing();
  return response;
}

/** Converts links of Markdown files to those of the site. */
import { dirname, normalize } from 'node:path';
import { guides } from './guides.ts';

/** The host of the service in the guides. On the site it is the service that serves the page. */
const ownOrigin = 'http://127.0.0.1:8080';

const fixed: Readonly<Record<string, string>> = { 'README.md': '/docs', 'openapi.yaml': '/v1/openapi.yaml' };

/** Names of the pictures that pages show → their files, relative to the root of the repository. */
export type Pictures = Map<string, string>;

/** null for a file of the repository that is not part of the site. */
export function hrefOf(target: string, source: string): string | null {
  if (target.startsWith('#')) return target;
  if (target.startsWith(`${ownOrigin}/`)) return target.slice(ownOrigin.length);
  if (/^(https?:|mailto:)/.test(target)) return target;
  const [file = '', fragment] = target.split('#');
  const path = normalize(`${dirname(source)}/${file}`);
  const guide = guides.find((one) => one.source === path);
  const page = guide === undefined ? fixed[path] : `/docs/${guide.slug}`;
  if (page === undefined) return null;
  return fragment === undefined ? page : `${page}#${fragment}`;
}

/** Returns the URL of a picture, and adds the picture to `pictures`. */
export function pictureOf(target: string, source: string, pictures: Pictures): string {
  const path = normalize(`${dirname(source)}/${target}`);
  const name = path.split('/').at(-1)!;
  pictures.set(name, path);
  return `/docs/pictures/${name}`;
}

/** Where a link of a Markdown file leads on the site. */
import { dirname, normalize } from 'node:path';
import { guides } from './guides.ts';

/** What the guides call the service: on the site it is the one that serves the page. */
const ownOrigin = 'http://127.0.0.1:8080';

const fixed: Readonly<Record<string, string>> = { 'README.md': '/docs', 'openapi.yaml': '/v1/openapi.yaml' };

/** Names of the pictures that pages show → their files, relative to the root of the repository. */
export type Pictures = Map<string, string>;

/** null: a file of the repository that the site does not have. */
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

/** The URL of a picture, which is added to `pictures`. */
export function pictureOf(target: string, source: string, pictures: Pictures): string {
  const path = normalize(`${dirname(source)}/${target}`);
  const name = path.split('/').at(-1)!;
  pictures.set(name, path);
  return `/docs/pictures/${name}`;
}

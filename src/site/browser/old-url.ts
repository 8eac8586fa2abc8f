/** Redirects links of the former API reference: `/docs#/Jobs/createJob`. */
export function redirectOldUrl(): void {
  const [, tag, operation] = /^#\/([A-Za-z]+)(?:\/([A-Za-z]+))?$/.exec(location.hash) ?? [];
  if (tag === undefined) return;
  location.replace(`/docs/reference/${tag.toLowerCase()}${operation === undefined ? '' : `#${operation}`}`);
}

/** The Content-Disposition header of a download. */

/** RFC 5987 `attr-char`: characters that need no encoding in an extended parameter value. */
function encodeExtended(value: string): string {
  return encodeURIComponent(value).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Control characters, path separators, line separators, and marks that reverse the reading direction (`exe.4pm`). */
const unsafe = /[\p{Cc}/\\\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]/gu;

/**
 * A name that is safe as a file name and in a header. Unsafe characters and lone surrogates become `_`; an empty name or one
 * of only dots becomes `download`; at most 200 UTF-16 units.
 */
export function safeFileName(name: string): string {
  const clean = name.slice(0, 200).toWellFormed().replace(unsafe, '_');
  return /^[.\s]*$/.test(clean) ? 'download' : clean;
}

/**
 * `attachment` with an ASCII `filename` for old clients and the true name in `filename*` (RFC 6266, RFC 8187).
 */
export function contentDisposition(fileName: string): string {
  const name = safeFileName(fileName);
  const ascii = name.replace(/[^\x20-\x7e]|["%]/g, '_');
  const plain = `attachment; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encodeExtended(name)}`;
}

/** The Content-Disposition header of a download. */

/** RFC 5987 `attr-char`: what stays as it is in an extended parameter value. */
function encodeExtended(value: string): string {
  return encodeURIComponent(value).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * A name that no client can take for a path or a header: control characters, path separators and lone
 * surrogates become `_`; empty or dots only becomes `download`; at most 200 characters.
 */
export function safeFileName(name: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are exactly what must go
  const clean = name.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f/\\\u2028\u2029\ufffd]/g, '_').slice(0, 200);
  return /^[.\s]*$/.test(clean) ? 'download' : clean.toWellFormed().replace(/\ufffd/g, '_');
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

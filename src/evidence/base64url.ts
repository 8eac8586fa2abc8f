/** Whether a text is the canonical base64url (RFC 4648 §5, without padding) of at least one byte. */
export function isCanonicalBase64url(text: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text;
}

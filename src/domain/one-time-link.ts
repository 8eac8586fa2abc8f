/**
 * One-time links of the console: whoever has the link may act, once. The token is in the fragment, which browsers do not
 * send to servers, so no log contains it.
 */
import { createHmac, randomBytes } from 'node:crypto';

/** minutes that a link for a new password works */
export const passwordLinkMinutes = 60;
/** days that an invitation works */
export const invitationDays = 7;

/** A token of one purpose does not work for another. */
export type LinkPurpose = 'password' | 'invitation';

const pages: Readonly<Record<LinkPurpose, string>> = { password: 'new-password', invitation: 'invitation' };

/** 256 random bits as base64url. */
export const generateLinkToken = (): string => randomBytes(32).toString('base64url');

/** The database stores only this hash. Any text is hashed, because an invalid token matches nothing. */
export function hashLinkToken(purpose: LinkPurpose, token: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`reelmend one-time link\n${purpose}\n${token}`).digest();
}

/** `publicUrl` has no slash at its end. */
export const linkUrl = (publicUrl: string, purpose: LinkPurpose, token: string): string =>
  `${publicUrl}/console/${pages[purpose]}#${token}`;

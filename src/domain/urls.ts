/**
 * What may be wrong with a URL that somebody gives, as one sentence each. They tell of the text of the URL and no
 * more: one for every address that is private, taken or unfit, whatever a name leads to, so that nobody learns by it
 * what stands behind the guard.
 */
import { ReelmendError } from './errors.ts';

/** characters, as it is written; openapi.yaml says the same (PublicUrl) */
export const maxUrlLength = 2048;

const mustBe = {
  length: `it must have at most ${maxUrlLength} characters`,
  scheme: 'it must begin with http:// or https://',
  characters: 'it must hold no spaces and no control characters',
  credentials: 'it must hold no user name and no password',
  host: 'its host must be a valid name or IP address',
  port: 'its port must be 80, 443, or one from 1024 on that is not that of a database, mail or another such service',
  private: 'it must be a public http or https address',
} as const;
export type UrlProblem = keyof typeof mustBe;

export interface UrlNotAllowedOptions {
  /** JSON Pointer of the field that holds the URL */
  param?: string;
  /** for logs only */
  cause?: unknown;
  /** the URL that was given is good, and its server redirects to one that is not */
  redirected?: boolean;
}

export function urlNotAllowed(problem: UrlProblem, options: UrlNotAllowedOptions = {}): ReelmendError {
  const { redirected = false, ...rest } = options;
  const subject = redirected ? 'This URL redirects to one that is not allowed' : 'This URL is not allowed';
  return new ReelmendError('url_not_allowed', `${subject}: ${mustBe[problem]}.`, rest);
}

/** What is wrong with a text that is no URL for us, judged without reading it as one. */
export function problemOfText(text: string): UrlProblem {
  if ([...text].length > maxUrlLength) return 'length';
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? [];
  if (authority === undefined) return 'scheme';
  if (/[\x00-\x20\x7f]/.test(text)) return 'characters';
  if (authority.includes('@')) return 'credentials';
  const [, port] = /:(\d+)$/.exec(authority) ?? [];
  return port !== undefined && Number(port) > 65535 ? 'port' : 'host';
}

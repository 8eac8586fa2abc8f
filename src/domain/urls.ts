/**
 * What may be wrong with a customer's URL, one sentence each. A sentence depends on the text of the URL only. All
 * private addresses get the same one, so that responses reveal nothing about the internal network.
 */
import { ReelmendError } from './errors.ts';

/** characters as written; openapi.yaml has the same number (PublicUrl) */
export const maxUrlLength = 2048;

const mustBe = {
  length: `it must have at most ${maxUrlLength} characters`,
  scheme: 'it must begin with http:// or https://',
  characters: 'it must contain no spaces and no control characters',
  credentials: 'it must contain no user name and no password',
  host: 'its host must be a valid name or IP address',
  port: 'its port must be 80, 443, or one from 1024 on that is not that of a database, mail or another such service',
  private: 'it must be a public http or https URL',
} as const;
export type UrlProblem = keyof typeof mustBe;

export interface UrlNotAllowedOptions {
  /** JSON Pointer of the field that holds the URL */
  param?: string;
  /** for logs only */
  cause?: unknown;
  /** the given URL is allowed, but its server redirects to one that is not */
  redirected?: boolean;
}

export function urlNotAllowed(problem: UrlProblem, options: UrlNotAllowedOptions = {}): ReelmendError {
  const { redirected = false, ...rest } = options;
  const subject = redirected ? 'This URL redirects to one that is not allowed' : 'This URL is not allowed';
  return new ReelmendError('url_not_allowed', `${subject}: ${mustBe[problem]}.`, rest);
}

/** What is wrong with a text that cannot be parsed as one of the allowed URLs. */
export function problemOfText(text: string): UrlProblem {
  if ([...text].length > maxUrlLength) return 'length';
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? [];
  if (authority === undefined) return 'scheme';
  if (/[\x00-\x20\x7f]/.test(text)) return 'characters';
  if (authority.includes('@')) return 'credentials';
  const [, port] = /:(\d+)$/.exec(authority) ?? [];
  return port !== undefined && Number(port) > 65535 ? 'port' : 'host';
}

/**
 * Decides which URLs may be requested, before any packet is sent. connect.ts checks the IP addresses of a name later.
 *
 * Allowed ports: 80, 443, and those from 1024 on, except the ports of well-known services that are not web servers (databases,
 * caches, orchestrators, remote desktops, mail, chat) and the ports that browsers block.
 *
 * Lengths are not checked here. The contract limits the URL that the customer sent. Parsing can make a URL longer. The size of the
 * response headers limits the URL of a redirect. session.ts rejects redirects from https to http.
 */
import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { ReelmendError } from '../domain/errors.ts';
import { problemOfText, urlNotAllowed, type UrlProblem } from '../domain/urls.ts';
import { isOwnIp, isPublicIp } from './ip.ts';

const servicePorts = new Set([
  1080, 1099, 1433, 1434, 1521, 1719, 1720, 1723, 1883, 2049, 2181, 2375, 2376, 2377, 2379, 2380, 3128, 3260, 3306,
  3389, 3659, 4045, 4190, 4369, 5060, 5061, 5432, 5433, 5601, 5671, 5672, 5900, 5901, 5984, 5985, 5986, 6000, 6379,
  6380, 6432, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 7077, 7474, 7687, 8086, 8500, 8983, 9042, 9092,
  9160, 9200, 9300, 10080, 10250, 10255, 10256, 11211, 15672, 16379, 25672, 26257, 26379, 27017, 27018, 27019, 28015,
  50070, 61616,
]);

/** Suffixes of names that exist only inside a network. Such names are rejected even if they resolve. */
const internalSuffixes = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
  'in-addr.arpa',
  'ip6.arpa',
];

export interface UrlPolicyOptions {
  /** `host:port` pairs that are allowed although their IP address is private or their port is closed */
  allowHosts: readonly string[];
  /** `host` or `host:port` of this service's own public URLs: refused, even if allowed above */
  denyHosts?: readonly string[];
}

export interface UrlPolicy {
  /** Parses and checks a URL. Request only the URL that it returns. Throws ReelmendError `url_not_allowed`. */
  check(url: string | URL): URL;
  /** Whether `host:port` is exempt from the check of IP addresses. `hostname` has no brackets. */
  isExempt(hostname: string, port: number): boolean;
  /** Throws ReelmendError `url_not_allowed` unless the IP address may be connected to. */
  checkIp(ip: string, hostname: string, port: number): void;
}

/** The cause, for logs only: it may contain the rejected IP address, which the customer must not learn. */
class Refusal extends Error {
  readonly problem: UrlProblem;

  constructor(problem: UrlProblem, reason: string) {
    super(reason);
    this.problem = problem;
  }
}

export function notAllowed(problem: UrlProblem, reason: string): ReelmendError {
  return urlNotAllowed(problem, { cause: new Refusal(problem, reason) });
}

/** Rewords a refusal for the customer: not the URL that the customer gave was refused, but one that it redirects to. Returns other errors unchanged. */
export function behindRedirect(error: unknown): unknown {
  if (!(error instanceof ReelmendError && error.cause instanceof Refusal)) return error;
  return urlNotAllowed(error.cause.problem, { cause: error.cause, redirected: true });
}

/** The port of a URL, or the default of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** The host in the form that is checked: an IPv6 address without brackets, a name without a trailing dot. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : withoutRootDot(hostname);
}

export function withoutRootDot(hostname: string): string {
  return hostname.replace(/\.$/, '');
}

/** `host:port` in the spelling of the URL class. Throws TypeError for anything else. */
function normalizePair(pair: string): string {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^\s:/?#@\\[\]]+):(\d{1,5})$/.exec(pair);
  if (match === null || !URL.canParse(`http://${match[1]}/`)) {
    throw new TypeError(`Expected host:port but received ${JSON.stringify(pair)}`);
  }
  return `${hostOf(new URL(`http://${match[1]}/`))}:${Number(match[2])}`;
}

function isInternalName(hostname: string): boolean {
  if (!hostname.includes('.')) return true;
  return internalSuffixes.some((suffix) => hostname.endsWith(`.${suffix}`));
}

/** Such a label stays as it is when it is decoded. The URL standard accepts it, but no name in the DNS has one (RFC 5891). */
function hasInvalidPunycode(hostname: string): boolean {
  return domainToUnicode(hostname).split('.').some((label) => label.startsWith('xn--'));
}

function isClosedPort(port: number): boolean {
  if (port === 80 || port === 443) return false;
  return port < 1024 || servicePorts.has(port);
}

export function createUrlPolicy(options: UrlPolicyOptions): UrlPolicy {
  const allowed = new Set(options.allowHosts.map(normalizePair));
  const denied = new Set((options.denyHosts ?? []).map((entry) => entry.toLowerCase().replace(/[[\]]/g, '')));
  const isExempt = (hostname: string, port: number) => allowed.has(`${hostname}:${port}`);
  const checkIp = (ip: string, hostname: string, port: number) => {
    if (isExempt(hostname, port)) return;
    if (!isPublicIp(ip) || isOwnIp(ip)) {
      throw notAllowed('private', `${hostname} leads to ${ip}`);
    }
  };
  return {
    isExempt,
    checkIp,
    check(input) {
      const text = String(input);
      if (!URL.canParse(text)) throw notAllowed(problemOfText(text), 'the URL is malformed');
      const url = new URL(text);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw notAllowed('scheme', `the scheme is ${url.protocol}`);
      if (url.username !== '' || url.password !== '') throw notAllowed('credentials', 'the URL carries a user name or password');
      const hostname = hostOf(url);
      const port = portOf(url);
      if (hostname === '' || hostname.endsWith('.')) throw notAllowed('host', 'the host has an empty label');
      if (hasInvalidPunycode(hostname)) throw notAllowed('host', 'the host has a label that is no valid Punycode');
      if (denied.has(hostname) || denied.has(`${hostname}:${port}`)) throw notAllowed('private', `${hostname} is this service itself`);
      if (isExempt(hostname, port)) return url;
      if (isClosedPort(port)) throw notAllowed('port', `port ${port} is closed`);
      if (isIP(hostname) !== 0) checkIp(hostname, hostname, port);
      else if (isInternalName(hostname)) throw notAllowed('private', `${hostname} is a name of an internal network`);
      return url;
    },
  };
}

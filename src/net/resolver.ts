/**
 * Resolves the names of customers' servers. `dns.lookup` would keep a thread of libuv's pool for as long as a name server
 * is silent. A process has two such threads for all its lookups, so a few slow names of one customer would stop those of all
 * others, of S3 and of PostgreSQL. The queries of c-ares take no thread, and end with the connection that needs them.
 */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver as DnsResolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** All IP addresses of a name. Rejects as dns.lookup does. The signal ends it early. */
export type Resolver = (hostname: string, signal?: AbortSignal) => Promise<LookupAddress[]>;

export interface ResolverOptions {
  /** IP addresses of name servers, with or without a port; default: those of /etc/resolv.conf */
  servers?: readonly string[];
  /** default: /etc/hosts */
  hostsFile?: string;
  /** wait for a response, ms; twice as long the second and last time. The default leaves time to connect (`connectMs`). */
  responseMs?: number;
}

/** How long the addresses of one family wait for those of the other: some name servers never answer questions for IPv6. */
const otherFamilyMs = 500;

/** The name is known to have no address, as opposed to: no name server could say. */
const isAbsent = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** As this machine resolves names: search domains, multicast DNS, whatever nsswitch.conf says. Each lookup holds a thread. */
export const systemResolver: Resolver = (hostname) => lookup(hostname, { all: true, verbatim: true });

/** Full names only: the hosts file, then DNS. Nothing is cached here, so that the policy checks the current IP addresses. */
export function createResolver({ servers, hostsFile = '/etc/hosts', responseMs = 2000 }: ResolverOptions = {}): Resolver {
  return async (hostname, signal) => {
    const listed = await readHosts(hostsFile, hostname);
    signal?.throwIfAborted();
    if (listed.length > 0) return listed;
    // One for each lookup: cancelling it ends its queries and no others, and its servers are those of /etc/resolv.conf now.
    const dns = new DnsResolver({ timeout: responseMs, tries: 2 });
    if (servers !== undefined) dns.setServers(servers);
    return query(dns, hostname, signal);
  };
}

async function readHosts(file: string, hostname: string): Promise<LookupAddress[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const isListed = names.some((name) => name.toLowerCase() === hostname.toLowerCase());
    return isListed && isIP(address) !== 0 ? [{ address, family: isIP(address) }] : [];
  });
}

async function query(dns: DnsResolver, hostname: string, signal: AbortSignal | undefined): Promise<LookupAddress[]> {
  const cancel = () => dns.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  const queries = [dns.resolve4(hostname), dns.resolve6(hostname)] as const;
  Promise.any(queries).then(() => setTimeout(cancel, otherFamilyMs).unref(), () => undefined);
  const [v4, v6] = await Promise.allSettled(queries);
  signal?.removeEventListener('abort', cancel);
  // IPv4 first: c-ares does not tell whether this machine has a route for IPv6.
  const found = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  if (found.length === 0) throw unresolved(hostname, [v4, v6]);
  return found;
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family }));
}

/** With the codes of dns.lookup. Those of c-ares tell about the name server: ECONNREFUSED would look like the customer's. */
function unresolved(hostname: string, answers: PromiseSettledResult<string[]>[]): Error {
  const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []));
  const unanswered = failures.find(({ code = '' }) => !isAbsent.has(code));
  const code = unanswered === undefined ? 'ENOTFOUND' : 'EAI_AGAIN';
  return Object.assign(new Error(`${code} ${hostname}`, { cause: unanswered ?? failures[0] }), { code });
}

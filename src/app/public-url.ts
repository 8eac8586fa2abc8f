/** The URL at which customers reach the service. */
import type { Config } from './config.ts';

/** Hosts that mean all addresses of the machine. */
const wildcardAddresses: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** What an operator should know about it at the start; undefined: nothing. */
export function publicUrlProblem({ publicUrl, host, console }: Pick<Config, 'publicUrl' | 'host' | 'console'>): string | undefined {
  if (publicUrl === undefined) {
    return wildcardAddresses.has(host) ? 'REELMEND_PUBLIC_URL is not set: download links contain a URL that other machines cannot reach' : undefined;
  }
  const hasPath = new URL(publicUrl).pathname !== '/';
  return hasPath && console ? 'REELMEND_PUBLIC_URL has a path: the API works below it if the proxy removes it, the console and the documents do not' : undefined;
}

/** Looks up the names of servers for sockets, and lets only allowed IP addresses through. */
import type { LookupFunction } from 'node:net';
import type { UrlPolicy } from './policy.ts';
import { createResolver, systemResolver } from './resolver.ts';
import type { Resolver } from './resolver.ts';

export interface LookupOptions {
  policy: UrlPolicy;
  /** default: createResolver for customers' names, the system's for those that the operator allows */
  resolver?: Resolver | undefined;
}

const customersResolver = createResolver();

/** Names that the operator allows may be those of a search domain, which only the system knows, and are the operator's own. */
function resolverOf({ policy, resolver }: LookupOptions, hostname: string, port: number): Resolver {
  return resolver ?? (policy.isExempt(hostname, port) ? systemResolver : customersResolver);
}

/** The signal ends a lookup whose connection is no longer wanted. */
export function guardedLookup(options: LookupOptions, port: number, signal: AbortSignal): LookupFunction {
  const checkedAddresses = async (hostname: string) => {
    const addresses = await resolverOf(options, hostname, port)(hostname, signal);
    if (addresses.length === 0) throw Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' });
    for (const { address } of addresses) options.policy.checkIp(address, hostname, port);
    return addresses.map(({ address, family }) => ({ address, family }));
  };
  return (hostname, { all }, callback) => {
    checkedAddresses(hostname).then(
      (addresses) => {
        if (all === true) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

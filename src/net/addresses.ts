/** Which IP addresses a customer's URL may lead to. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Azure's wire server has an address in public space that only its own machines can reach. */
const inwardIpv4 = new Set(['168.63.129.16']);

/** All of today's public IPv6; what is outside (also IPv4-compatible `::7f00:1`) is special or unassigned. */
const globalIpv6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * True only for globally reachable unicast addresses. Everything else is false: private, loopback, link-local,
 * carrier NAT, documentation, benchmarking, multicast, reserved, and every IPv6 form that embeds an IPv4
 * address (mapped, compatible, NAT64, 6to4, Teredo), since a gateway may unwrap it. The ranges are those of
 * ipaddr.js with the IANA special-purpose registries' gaps closed.
 */
export function isPublicAddress(address: string): boolean {
  // A zone (`fe80::1%eth0`) exists only on links of this machine; isIP refuses what ipaddr.js would complete (`1.2.3`).
  if (address.includes('%') || isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalIpv6);
  return !inwardIpv4.has(parsed.toString());
}

/** Whether the address is one of this machine's own interfaces, which may well be public. */
export function isOwnAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const wanted = ipaddr.parse(address).toNormalizedString();
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .some((own) => ipaddr.isValid(own.address) && ipaddr.parse(own.address).toNormalizedString() === wanted);
}

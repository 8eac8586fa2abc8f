/** IP addresses that a customer's URL may lead to. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Azure's wire server: a public IP address that only Azure's own machines can reach. */
const internalIpv4 = new Set(['168.63.129.16']);

/** All public IPv6 addresses. Everything outside is special or unassigned, IPv4-compatible `::7f00:1` as well. */
const globalIpv6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * True only for globally reachable unicast addresses. False for private, loopback, link-local, carrier NAT,
 * documentation, benchmarking, multicast and reserved ones. Also false for every IPv6 form that embeds an IPv4 address
 * (mapped, compatible, NAT64, 6to4, Teredo), because a gateway may unwrap it. The ranges are those of ipaddr.js and
 * what it lacks of the IANA special-purpose registries.
 */
export function isPublicIp(ip: string): boolean {
  // A zone (`fe80::1%eth0`) names an interface of this machine. isIP refuses short forms (`1.2.3`) that ipaddr.js accepts.
  if (ip.includes('%') || isIP(ip) === 0) return false;
  const parsed = ipaddr.parse(ip);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalIpv6);
  return !internalIpv4.has(parsed.toString());
}

/** Whether the IP address belongs to an interface of this machine; it may be public. */
export function isOwnIp(ip: string): boolean {
  if (isIP(ip) === 0) return false;
  const wanted = ipaddr.parse(ip).toNormalizedString();
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .some((own) => ipaddr.isValid(own.address) && ipaddr.parse(own.address).toNormalizedString() === wanted);
}

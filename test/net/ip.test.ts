import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { isOwnIp, isPublicIp } from '../../src/net/ip.ts';

const closed: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.0.0.1', '0.255.255.255'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  unspecified: ['::'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'carrier NAT, Alibaba metadata': ['100.64.0.1', '100.127.255.255', '100.100.100.200'],
  'link-local, cloud metadata': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%eth0'],
  'unique local, AWS metadata': ['fc00::1', 'fdff::1', 'fd00:ec2::254', 'fec0::1'],
  'Azure wire server': ['168.63.129.16'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'protocol assignments': [
    '192.0.0.1',
    '192.0.0.170',
    '2001::1',
    '2001:1::1',
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
  ],
  '6to4 relays and prefix': ['192.88.99.1', '2002:7f00:1::', '2002:808:808::1'],
  'AS112, AMT': ['192.31.196.1', '192.175.48.1', '192.52.193.1', '2001:4:112::1', '2620:4f:8000::1', '2001:3::1'],
  'multicast, reserved, broadcast': ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', 'ff02::1'],
  'IPv4 inside IPv6, mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8'],
  'IPv4 inside IPv6, compatible': ['::7f00:1', '::127.0.0.1', '::808:808'],
  'IPv4 inside IPv6, translated': ['::ffff:0:7f00:1', '64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::7f00:1'],
  Teredo: ['2001::7f00:1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'outside 2000::/3': ['4000::1', '100::1', '5f00::1', 'e000::1', '1::1'],
  'no address at all': ['', 'localhost', '1.2.3', 'example.com', '1.2.3.4.5', '[::1]', '8.8.8.8 '],
};

describe('isPublicIp', () => {
  it.each(Object.entries(closed))('refuses %s', (_name, addresses) => {
    expect(addresses.filter(isPublicIp)).toEqual([]);
  });

  it('passes public addresses, also right beside closed ranges', () => {
    const open = [
      '1.1.1.1',
      '8.8.8.8',
      '9.255.255.255',
      '11.0.0.1',
      '100.63.255.255',
      '100.128.0.1',
      '126.255.255.255',
    ];
    open.push('128.0.0.1', '169.253.255.255', '169.255.0.1', '172.15.255.255', '172.32.0.1', '192.167.255.255');
    open.push('168.63.129.15', '168.63.129.17', '198.17.255.255', '198.20.0.1', '223.255.255.255', '192.0.1.1');
    open.push('2606:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '2003::1', '2400::1', '2001:200::1');
    expect(open.filter((address) => !isPublicIp(address))).toEqual([]);
  });
});

describe('isOwnIp', () => {
  it('knows every address of this machine, in any spelling, and no other', () => {
    const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((entry) => entry.address));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((address) => !isOwnIp(address))).toEqual([]);
    expect(isOwnIp('8.8.8.8')).toBe(false);
    expect(isOwnIp('no address')).toBe(false);
  });
});

/**
 * Which addresses a webhook may use: only those of the public internet, so that nobody can make this service call hosts
 * that only it can reach.
 *
 * Guarantee: the check applies to the address that the connection uses, after names are resolved. No IPv4 address
 * embedded in an IPv6 address passes.
 */
import { BlockList, isIP } from 'node:net';

/** IPv4 ranges that are not public (IANA special-purpose address registry), multicast and reserved. */
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/**
 * Non-public ranges within the global unicast addresses (2000::/3): protocol assignments with Teredo, documentation,
 * and 6to4, which embeds an IPv4 address. Nothing outside of 2000::/3 is public.
 */
const PRIVATE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const privateV4 = listOf(PRIVATE_V4, 'ipv4');
const privateV6 = listOf(PRIVATE_V6, 'ipv6');
const globalV6 = listOf(['2000::/3'], 'ipv6');
const mappedV4 = listOf(['::ffff:0:0/96'], 'ipv6');

function listOf(ranges: string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', prefix] = range.split('/');
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}

/** Whether it is an IP address of the public internet; false if it is not an IP address. */
export function isPublic(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !privateV4.check(address, 'ipv4');
    case 6:
      // An address with a zone (`fe80::1%eth0`) is link-local. Mapped addresses are not used on the public internet.
      if (address.includes('%') || mappedV4.check(address, 'ipv6')) return false;
      return globalV6.check(address, 'ipv6') && !privateV6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** The host of a URL as an IP address, if it is one: `[::1]` without its brackets. */
export function literalAddress(host: string): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? undefined : bare;
}

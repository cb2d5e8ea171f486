/** IP addresses. */
import { isIP } from 'node:net';

/**
 * The address in the form that PostgreSQL stores: IPv4 without the prefix of IPv6, and no zone. Undefined if a trusted
 * proxy sent something else.
 */
export function plainAddress(ip: string | undefined): string | undefined {
  const address = ip?.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return address && isIP(address) ? address : undefined;
}

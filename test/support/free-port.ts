/** Ports for servers under test whose settings must name the port. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { claimPort } from '../../src/platform/lifecycle.ts';

const FROM = 10_000;

/**
 * A free port of 127.0.0.1 that no other process gets by chance before the caller's server listens: the system takes
 * the ports of connections, and of servers on port 0, from a higher range.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, lowestByChance());
    const isFree = await claimPort('127.0.0.1', port).catch(() => false);
    if (isFree) return port;
  }
}

function lowestByChance(): number {
  const usual = 32_768;
  try {
    const [lowest = usual] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/).map(Number);
    return lowest > FROM ? lowest : usual;
  } catch {
    return usual; // not Linux
  }
}

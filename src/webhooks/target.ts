/**
 * The target address of a webhook: resolved once for each attempt and then used for the connection, so that a second
 * DNS answer cannot lead elsewhere.
 */
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublic, literalAddress } from './address.ts';

/** The signature of `lookup` of node:dns; a parameter so that tests can replace it. */
export type Resolve = typeof systemLookup;

export class ForbiddenTarget extends Error {}

/**
 * Why a URL is refused before its name is resolved; undefined if it is allowed.
 * @param allowPrivate allows http and private addresses
 */
export function targetProblem(url: string, allowPrivate: boolean): string | undefined {
  if (allowPrivate) return undefined;
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') return 'must start with https://';
  const address = literalAddress(hostname);
  if (address !== undefined && !isPublic(address)) return 'must lead to a public address';
  return /(?:^|\.)localhost\.?$/i.test(hostname) ? 'must lead to a public address' : undefined;
}

/** A lookup for one connection, which returns only public addresses unless `allowPrivate`. */
export function lookupFor(allowPrivate: boolean, resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const good = found.filter(({ address }) => allowPrivate || isPublic(address));
      const [first] = good;
      if (!first) return done(new ForbiddenTarget('the host has no public address'), []);
      if (options.all) done(null, good);
      else done(null, first.address, first.family);
    });
  };
}

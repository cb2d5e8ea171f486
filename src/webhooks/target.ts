/**
 * Where a webhook goes: the address behind its URL, looked up once for each attempt and then connected to, so that no
 * second answer of the name's server can lead elsewhere.
 */
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublic, literalAddress } from './address.ts';

/** As node:dns has it; given so that tests can answer. */
export type Resolve = typeof systemLookup;

export class ForbiddenTarget extends Error {}

/**
 * Why a URL is refused before anything is looked up, or undefined.
 * @param allowPrivate http and private addresses will do
 */
export function targetProblem(url: string, allowPrivate: boolean): string | undefined {
  if (allowPrivate) return undefined;
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') return 'must start with https://';
  const address = literalAddress(hostname);
  if (address !== undefined && !isPublic(address)) return 'must lead to a public address';
  return /(?:^|\.)localhost\.?$/i.test(hostname) ? 'must lead to a public address' : undefined;
}

/** A lookup for one connection, which answers public addresses alone unless `allowPrivate`. */
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

/** Bodies of imports as they go over HTTP. */
import { readFile } from 'node:fs/promises';
import { type Entry, entry } from './imports.ts';

/** The password of `HASH` in imports.ts, which `entry` gives to every user. */
export const OLD_PASSWORD = 'secret';

/** A body for one organization. */
export function bulk(orgId: string, humanUsers: unknown[], timeout = '10m') {
  return { dataOrgs: { orgs: [{ orgId, humanUsers }] }, timeout };
}

/** `count` valid users with distinct names; `user` replaces fields. By default none of them is due a mail. */
export function people(prefix: string, count: number, user: Record<string, unknown> = {}): Entry[] {
  return Array.from({ length: count }, (_, i) => entry(`${prefix}${i}`, user));
}

/** Users who are each due a verification mail, to distinct addresses. */
export function unverified(prefix: string, count: number): Entry[] {
  return Array.from({ length: count }, (_, i) => {
    const name = `${prefix}${i}`;
    return entry(name, { email: { email: `${name}@example.com` } });
  });
}

/** A file of test/fixtures, unchanged. */
export function fixture(name: string): Promise<string> {
  return readFile(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8');
}

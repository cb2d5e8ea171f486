/** Bodies of imports as they go over HTTP. */
import { readFile } from 'node:fs/promises';
import { type Entry, entry } from './imports.ts';

/** What `HASH` of imports.ts, which `entry` gives everybody, was made of. */
export const OLD_PASSWORD = 'secret';

/** A body for one organization. */
export function bulk(orgId: string, humanUsers: unknown[], timeout = '10m') {
  return { dataOrgs: { orgs: [{ orgId, humanUsers }] }, timeout };
}

/** `count` valid users with names of their own; `user` fields replace. Without any change none of them needs a mail. */
export function people(prefix: string, count: number, user: Record<string, unknown> = {}): Entry[] {
  return Array.from({ length: count }, (_, i) => entry(`${prefix}${i}`, user));
}

/** People of whom every one needs a verification mail, to an address of his own. */
export function unverified(prefix: string, count: number): Entry[] {
  return Array.from({ length: count }, (_, i) => {
    const name = `${prefix}${i}`;
    return entry(name, { email: { email: `${name}@example.com` } });
  });
}

/** A file of test/fixtures as it is. */
export function fixture(name: string): Promise<string> {
  return readFile(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8');
}

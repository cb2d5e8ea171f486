/** The demo's file: users of an imaginary company. Most are ready to import, some need a mail, some are invalid. */
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import bcrypt from 'bcryptjs';

const PASSWORDS = ['correct horse', 'Tr0ub4dor&3', 'open sesame', 'swordfish', 'hunter2-hunter2', 'pa55phrase please'];
const COST = 10;
const FIRST = ['Ann', 'Bo', 'Chloé', 'Dmitri', 'Esra', 'Fatou', 'Gül', 'Hana', 'Ivo', 'Jürgen'];
const LAST = ['Smith', 'Ñáñez', 'Okafor', 'Wójcik', 'Tanaka', "O'Brien", 'Žižek', 'Larsen', 'Silva', 'Haddad'];

export interface DemoFile {
  path: string;
  users: number;
  /** One of them, with their password from the old system. */
  someone: { loginName: string; password: string };
}

/**
 * Writes a `dataOrgs` body with `count` users to `path`.
 * The bcrypt hashes are real, but of a few passwords that the users share, as computing one hash takes 80 ms.
 * @param tag makes ids and names differ from those of an earlier run
 */
export async function writeDemoFile(path: string, orgId: string, count: number, tag: string): Promise<DemoFile> {
  const hashes = await Promise.all(PASSWORDS.map((p) => bcrypt.hash(p, COST)));
  const out = createWriteStream(path);
  out.write(`{"timeout":"30m0s","dataOrgs":{"orgs":[{"orgId":${JSON.stringify(orgId)},"humanUsers":[\n`);
  for (let i = 0; i < count; i++) {
    const line = `${i === 0 ? '' : ',\n'}${JSON.stringify(wrongEntry(i, tag) ?? entry(i, tag, hashes[i % hashes.length] as string))}`;
    if (!out.write(line)) await new Promise<void>((resume) => out.once('drain', resume));
  }
  out.end('\n]}]}}\n');
  await finished(out);
  return { path, users: count, someone: { loginName: userName(1, tag), password: PASSWORDS[1] as string } };
}

function userName(i: number, tag: string): string {
  return `user${i}-${tag}@example.com`;
}

function entry(i: number, tag: string, hash: string): Record<string, unknown> {
  const withoutPassword = i % 100 === 50;
  return {
    userId: `legacy|${tag}-${i}`,
    user: {
      userName: userName(i, tag),
      profile: {
        firstName: FIRST[i % FIRST.length],
        lastName: LAST[Math.floor(i / FIRST.length) % LAST.length],
        preferredLanguage: 'en',
      },
      email: { email: userName(i, tag), isEmailVerified: i % 50 !== 7 },
      ...(withoutPassword ? {} : { hashedPassword: { value: hash } }),
    },
  };
}

/** Invalid entries such as real exports contain: one every 1,000 users, from index 10 on. */
const WRONG: ((i: number, tag: string) => unknown)[] = [
  () => null,
  () => 42,
  (i, tag) => ({ userId: `legacy|${tag}-${i}` }),
  (i, tag) => ({ ...entry(i, tag, '$9$unknown$scheme') }),
  (i, tag) => withEmail(entry(i, tag, ''), 'Ann <ann@example.com>'),
  (i, tag) => ({ ...entry(i, tag, '$2b$31$tooExpensive') }),
  (_, tag) => entry(1, tag, '$2b$10$abcdefghijklmnopqrstuuVpNMlkR2Ib5Oc9xU5CPBEUhvHKpCRqy'),
];

function wrongEntry(i: number, tag: string): unknown {
  if (i % 1000 !== 10) return undefined;
  return WRONG[Math.floor(i / 1000) % WRONG.length]?.(i, tag);
}

function withEmail(of: Record<string, unknown>, email: string): unknown {
  const user = of.user as Record<string, unknown>;
  return { ...of, user: { ...user, email: { email }, hashedPassword: undefined } };
}

/**
 * better-auth: a program of its own that calls the database adapter, as its guides for moving users do, with its
 * PostgreSQL adapter and bcrypt set up for the old hashes.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, startHelper } from '../testbed/helper.ts';
import { passwordOf, user } from '../testbed/load.ts';
import { installed, run } from '../testbed/programs.ts';
import { startStores } from '../testbed/testbed.ts';
import type { BetterAuthOrder, BetterAuthReport } from './better-auth-process.ts';
import { expectCount, fetchedOrSkip, MOVE_MS, type Peer, programOrSkip } from './peer.ts';

const VERSION = '1.7.25';
const PROCESS = new URL('./better-auth-process.ts', import.meta.url);
const AT_ONCE = 20;

export const betterAuth: Peer = {
  how: `its database adapter in a program: a user and an account each, ${AT_ONCE} users at a time`,
  async move(scope, { users, say }) {
    const npm = programOrSkip('npm');
    say(`better-auth ${VERSION} is fetched, unless it is there`);
    const entry = await fetchedOrSkip(scope, 'better-auth', (signal) => installedEntry(npm, signal));
    const { databaseUrl, pool } = await startStores(scope, { redis: false, tcp: true });
    const order: BetterAuthOrder = { entry, databaseUrl, users, atOnce: AT_ONCE };
    const { child } = await startHelper<BetterAuthReport>(scope, PROCESS, order);
    say('users are moved into better-auth');
    child.send({});
    const { ms } = await messageOf<Required<BetterAuthReport>>(child, MOVE_MS);
    const { rows } = await pool.query<{ users: number; hashes: number }>(COUNT);
    expectCount('users', rows[0]?.users, users + 1);
    expectCount('hashes', rows[0]?.hashes, users + 1);
    child.send({ email: user(users - 1).email.email, password: passwordOf(users - 1) });
    const { signedIn } = await messageOf<BetterAuthReport>(child, MOVE_MS);
    if (!signedIn) throw new Error('The old password does not sign in to better-auth.');
    return { ms, product: `better-auth ${VERSION}`, signsIn: true };
  },
};

const COUNT = `select (select count(*)::int from "user") as users,
  (select count(*)::int from account join "user" on "user".id = account."userId" where password is not null) as hashes`;

/** A module of `node_modules/.cache` that exports what the program uses. */
async function installedEntry(npm: string, signal: AbortSignal): Promise<string> {
  const folder = await installed('better-auth', `${VERSION} 1`, async (to) => {
    await writeFile(join(to, 'package.json'), '{"private":true,"type":"module"}');
    const options = ['--save-exact', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run(npm, ['install', ...options, `better-auth@${VERSION}`], to, {}, signal);
    await writeFile(join(to, 'entry.js'), ENTRY);
  });
  return join(folder, 'entry.js');
}

const ENTRY = `export { betterAuth } from 'better-auth';
export { getMigrations } from 'better-auth/db/migration';
`;

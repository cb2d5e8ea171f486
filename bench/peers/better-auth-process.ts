/**
 * The process of the peer better-auth: sets up its tables, creates the first user, moves the others when it is told to,
 * then tries to sign in. It ends when its parent does.
 */
import { once } from 'node:events';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { compare } from 'bcryptjs';
import pg from 'pg';
import { timed } from '../bench.ts';
import { endWithParent } from '../testbed/helper.ts';
import { user, userId } from '../testbed/load.ts';
import { inGroups } from './peer.ts';

export interface BetterAuthOrder {
  /** The module that exports it. */
  entry: string;
  databaseUrl: string;
  users: number;
  atOnce: number;
}

export interface BetterAuthReport {
  ready?: true;
  /** How long the users took. */
  ms?: number;
  signedIn?: boolean;
}

endWithParent();
const [order] = (await once(process, 'message')) as [BetterAuthOrder];
const { betterAuth, getMigrations } = await import(pathToFileURL(order.entry).href);
const options = {
  database: new pg.Pool({ connectionString: order.databaseUrl, max: order.atOnce }),
  secret: 'a secret of the bench, with 32 characters or more',
  baseURL: 'http://127.0.0.1',
  emailAndPassword: {
    enabled: true,
    password: { verify: (typed: { hash: string; password: string }) => compare(typed.password, typed.hash) },
  },
  telemetry: { enabled: false },
  logger: { disabled: true },
};
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const { adapter } = await auth.$context;
await move(order.users);
report({ ready: true });

await once(process, 'message');
report({ ms: await timed(() => inGroups(order.users, { size: 1, limit: order.atOnce }, ([n]) => move(n as number))) });

const [body] = await once(process, 'message');
report({ signedIn: Boolean((await auth.api.signInEmail({ body })).token) });

async function move(n: number): Promise<void> {
  const { profile, email, hashedPassword } = user(n);
  const now = new Date();
  const times = { createdAt: now, updatedAt: now };
  const id = userId(n);
  const name = profile.displayName;
  const row = { id, name, email: email.email, emailVerified: email.isEmailVerified, ...times };
  await adapter.create({ model: 'user', data: row, forceAllowId: true });
  const account = { userId: id, providerId: 'credential', accountId: id, password: hashedPassword.value, ...times };
  await adapter.create({ model: 'account', data: account });
}

function report(message: BetterAuthReport): void {
  process.send?.(message);
}

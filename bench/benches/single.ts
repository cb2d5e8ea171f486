/**
 * `single`: how long single imports take, one after the other, from sending the request to the response: on an idle
 * machine and, if it has Redis, also while a large import runs.
 *
 * Ceiling: one bare insert of a row into `users`, committed, on the same server; it alternates with the calls. The
 * ratio says how many times longer the service takes, so less is better.
 */
import type { Pool } from '../../src/platform/db/pool.ts';
import { type Context, percentile, type Result, rounded, timed } from '../bench.ts';
import { user, userId } from '../testbed/load.ts';
import { DEFAULT_USERS, type Running, whileRunning } from '../testbed/running.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';

const CALLS = 300;
const WARM_UP = 20;
const TARGET_P99_MS = 8;
/** While an import runs. */
const LOADED_CALLS = 150;
const LOADED_WARM_UP = 2;
const LOADED_CEILING_MS = { 50: 60, 99: 300 };
const LOADED_TARGET_P99_MS = 50;
/** Users of the running import for each call, so that the import does not end first. */
const USERS_PER_CALL = 2000;

export async function single(context: Context): Promise<Result[]> {
  const idle = await context.scope.within((scope) => singleIdle({ ...context, scope }));
  if (redisVersion()) return [...idle, ...(await singleLoaded(context))];
  context.say('single: not measured under load, because redis-server is not on this machine');
  return idle;
}

async function singleIdle({ scope, users, workers, say }: Context): Promise<Result[]> {
  const calls = Math.min(users ?? CALLS, CALLS);
  const stores = await startStores(scope, { redis: redisVersion() !== undefined });
  const { client, orgId } = await startService(scope, stores, Math.max(1, workers));
  const queue = stores.redis ? 'Redis' : 'PostgreSQL';
  say(`single: ${calls} calls one after the other, queue on ${queue}`);
  const callMs: number[] = [];
  const insertMs: number[] = [];
  for (let n = 0; n < WARM_UP + calls; n++) {
    callMs.push(await timed(() => client.call('POST', '/management/v1/users/human/_import', user(n), orgId)));
    insertMs.push(await timed(() => bareInsert(stores.pool, orgId, WARM_UP + calls + n)));
  }
  const measured = { call: callMs.slice(WARM_UP), insert: insertMs.slice(WARM_UP) };
  const ceiling = rounded(percentile(measured.insert, 0.5), 2);
  const note = `${calls} calls, queue on ${queue}; ceiling: p50 of a bare insert and commit; less is better`;
  return [50, 99].map((p) => {
    const notes = p === 99 ? [note, `target: at most ${TARGET_P99_MS} ms`] : [note];
    const value = rounded(percentile(measured.call, p / 100), 2);
    const ratio = rounded(value / ceiling, 3);
    return { name: `single-p${p}`, value, unit: 'ms', ceiling, ratio, notes, extras: { calls, queue } };
  });
}

const INSERT = {
  name: 'bare-insert',
  text: `insert into users (id, org_id, kind, state, user_name, user_name_key, given_name, family_name, nick_name,
      display_name, preferred_language, email, email_key, email_verified, password_hash, password_changed_at, sequence)
    values ($1, $2, 'human', 'active', $3, $3, $4, $5, '', $6, $7, $8, $8, true, $9, now(), 0)`,
};

async function bareInsert(pool: Pool, orgId: string, n: number): Promise<void> {
  const { userName, profile, email, hashedPassword } = user(n);
  const { firstName, lastName, displayName, preferredLanguage } = profile;
  const names = [userName, firstName, lastName, displayName];
  const values = [userId(n), orgId, ...names, preferredLanguage, email.email, hashedPassword.value];
  await pool.query({ ...INSERT, values });
}

async function singleLoaded(context: Context): Promise<Result[]> {
  const { users = DEFAULT_USERS, say } = context;
  const calls = Math.min(LOADED_CALLS, Math.ceil(users / USERS_PER_CALL));
  const { figures, loadPerSecond } = await whileRunning(context, users, (running) => {
    say(`single: ${calls} calls meanwhile`);
    return timedCalls(running, users, calls);
  });
  return ([50, 99] as const).map((p) => {
    const value = rounded(percentile(figures, p / 100), 2);
    const ceiling = LOADED_CEILING_MS[p];
    return {
      name: `single-loaded-p${p}`,
      value,
      unit: 'ms',
      ceiling,
      ratio: rounded(value / ceiling, 3),
      notes: [
        `${calls} calls while ${users} users are imported at ${loadPerSecond} users/s; less is better`,
        ...(p === 99 ? [`target: at most ${LOADED_TARGET_P99_MS} ms`] : []),
      ],
      extras: { calls, users, loadPerSecond },
    };
  });
}

/** Milliseconds of each call. @param first number of the first user outside the running import */
async function timedCalls({ client, orgId }: Running, first: number, calls: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = first; n < first + LOADED_WARM_UP + calls; n++) {
    times.push(await timed(() => client.call('POST', '/management/v1/users/human/_import', user(n), orgId)));
  }
  return times.slice(LOADED_WARM_UP);
}

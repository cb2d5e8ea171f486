/**
 * The networks from which a user has logged in lately. An attack from other networks does not lock the user there.
 *
 * Guarantee: a user has few rows, which hold keyed hashes and expire.
 */
import type { Db } from '../../db/pool.ts';
import { sweepRows } from '../../db/sweep.ts';

/** Home, work, a phone and some travelling. */
const MOST = 10;
const LATELY = `interval '30 days'`;
/** SQL over `login_networks n` */
export const IS_RECENT = `n.last_login_at > now() - ${LATELY}`;

/**
 * SQL, two steps of a `with`: the user has logged in there. Writes at most once a day for each network; the tenth-latest
 * one makes room.
 * @param from SQL of a row with the user's id, or none; the row of the user must be locked
 * @param user number of the parameter that holds the user's id; the next one holds the network's key
 */
export function rememberWith(from: string, user: number): string {
  const [id, network] = [`$${user}::text`, `$${user + 1}::bigint`];
  return `remembered as (
    insert into login_networks as n (user_id, network)
    select u.id, ${network} from ${from} u where not exists (
      select from login_networks n
      where n.user_id = ${id} and n.network = ${network} and n.last_login_at > now() - interval '1 day')
    on conflict (user_id, network) do update set last_login_at = now()
    returning n.network),
  made_room as (
    delete from login_networks n using remembered
    where n.user_id = ${id} and n.network in (
      select o.network from login_networks o where o.user_id = ${id} and o.network <> ${network}
      order by o.last_login_at desc offset ${MOST - 1}))`;
}

/** Removes one batch of networks from which nobody has logged in lately; returns how many. */
export async function sweepNetworks(db: Db): Promise<number> {
  const where = `last_login_at < now() - ${LATELY}`;
  return sweepRows(db, { table: 'login_networks', where, order: 'last_login_at' });
}

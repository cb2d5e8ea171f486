/**
 * How many codes anybody may have mailed to a user: limits of the user, of the network and of the organization.
 *
 * Guarantee: strangers who ask for codes do not keep a user from signing in. From a network from which the user has
 * signed in lately, only the asks from such networks count. From all others, a user gets a code an hour whatever
 * strangers have used up, and whoever asks beyond the limits may enter the code that was mailed last: it went to the
 * mailbox of the user, who alone can read it. A network that asks for few users of an organization does not count
 * against the organization.
 */
import type { User } from '../../directory/users/store.ts';
import type { Config } from '../../platform/config.ts';
import { addAttempt, discount, type Limit, takeWithin } from '../../platform/db/counts.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import { IS_RECENT } from '../login/delays.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** What one network may ask for, for whomever. */
export const NETWORK_ASKS: Limit = {
  limit: 300,
  windowMs: HOUR_MS,
  message: 'Too many codes were asked for from this network. Try again later.',
};

/** Codes of a user in an hour from one network. */
const MOST_HERE = 5;
/** Codes of an organization in an hour that one network may ask for before they count for the organization. */
const FREE_OF_ORG = 3;
/** Codes of an organization in an hour, beyond the free ones. */
const MOST_OF_ORG = 1000;

const KEYS = {
  known: (userId: string) => `mail codes of ${userId} in known networks`,
  user: (userId: string) => `mail codes of ${userId}`,
  hourly: (userId: string) => `mail code of ${userId} each hour`,
  here: (userId: string, network: string) => `mail codes of ${userId} in ${network}`,
  org: (orgId: string) => `mail codes of organization ${orgId}`,
  orgHere: (orgId: string, network: string) => `mail codes of organization ${orgId} in ${network}`,
};

/**
 * Whether another code may be mailed, which then counts.
 * @param network key of the user and the network (`userKeys`)
 */
export async function allowsCode(
  db: Db,
  { RATE_LIMIT_MAILS: most }: Pick<Config, 'RATE_LIMIT_MAILS'>,
  { id, orgId }: Pick<User, 'id' | 'orgId'>,
  network: { ofUser: string; any: string },
): Promise<boolean> {
  if (most === 0) return true;
  if (await isKnownNetwork(db, id, network.ofUser)) return takeWithin(db, KEYS.known(id), 2 * most, DAY_MS);
  const allowed =
    (await takeWithin(db, KEYS.here(id, network.any), MOST_HERE, HOUR_MS)) &&
    (await isWithinOrg(db, orgId, network.any)) &&
    (await takeWithin(db, KEYS.user(id), most, DAY_MS));
  return allowed || takeWithin(db, KEYS.hourly(id), 1, HOUR_MS);
}

/** The user has signed in with a code: the code that they asked for does not count. */
export async function forgetAsk(db: Db, userId: string): Promise<void> {
  await discount(db, KEYS.known(userId));
  await discount(db, KEYS.user(userId));
}

async function isWithinOrg(db: Db, orgId: string, network: string): Promise<boolean> {
  const { attempts } = await addAttempt(db, KEYS.orgHere(orgId, network), HOUR_MS);
  return attempts <= FREE_OF_ORG || takeWithin(db, KEYS.org(orgId), MOST_OF_ORG, HOUR_MS);
}

/** Whether the user has signed in from this network lately. @param network of `userKeys` */
export async function isKnownNetwork(db: Db, userId: string, network: string): Promise<boolean> {
  const text = `select from login_networks n where n.user_id = $1 and n.network = $2 and ${IS_RECENT}`;
  return (await db.query(prepared(text, [userId, network]))).rowCount === 1;
}

/**
 * What the screens read from the database, as no call of the API answers it.
 *
 * Guarantee: each function is called only after the API, or `requirePermission`, has let the person see what it is
 * about.
 */

import type { Rights } from '../contract/permissions.ts';
import { rightsOf } from '../directory/members.ts';
import { findOrgs } from '../directory/organizations.ts';
import { KNOWS_PASSWORD } from '../passwords/forms.ts';
import type { Db } from '../platform/db/pool.ts';
import { IS_ACTIVE } from '../signin/password-sources/store.ts';

/**
 * @param ids organizations that the person may see
 * @returns their names by id, in the order of the ids; an organization that does not exist is missing
 */
export async function orgNames(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = ids.length === 0 ? [] : await findOrgs(db, [...new Set(ids)]);
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** When a user was created and last signed in, whether they have a password, and which import wrote them. */
export interface Background {
  createdAt: Date;
  lastLoginAt: Date | null;
  hasPassword: boolean;
  /** As far as the import said. */
  knowsPassword: boolean;
  importId: string | null;
  /** Something besides the password proves them, or did in the system before. */
  hasFactors: boolean;
}

export interface UserFacts {
  /** Undefined for a user who was removed meanwhile. */
  background: Background | undefined;
  /** The roles of the user. */
  rights: Rights;
}

export async function userFacts(db: Db, userId: string): Promise<UserFacts> {
  const query = db.query<Background>(
    `select created_at as "createdAt", last_login_at as "lastLoginAt", password_hash is not null as "hasPassword",
       ${KNOWS_PASSWORD} as "knowsPassword", import_id as "importId",
       has_second_factor(u.id) or exists (select from user_passkeys p where p.user_id = u.id) or exists (
         select from user_factors f where f.user_id = u.id and (f.lost_at is not null or f.recovery_left > 0)
       ) as "hasFactors"
     from users u where id = $1`,
    [userId],
  );
  const [{ rows }, rights] = await Promise.all([query, rightsOf(db, userId)]);
  return { background: rows[0], rights };
}

/** A password source that an import can use. */
export interface PasswordSource {
  id: string;
  name: string;
  orgId: string;
}

/** A list to choose from shows at most this many. */
const MOST_SOURCES = 200;

/**
 * The password sources that have not ended, by organization and name.
 * @param orgIds organizations of which the person may list them
 */
export async function activeSources(db: Db, orgIds: readonly string[]): Promise<PasswordSource[]> {
  const { rows } = await db.query<PasswordSource>(
    `select s.id, s.name, s.org_id as "orgId" from password_sources s
     where s.org_id = any ($1) and ${IS_ACTIVE} order by s.org_id, s.name, s.id limit ${MOST_SOURCES}`,
    [orgIds],
  );
  return rows;
}

/** How many existing users a dry run would update. */
export async function countUpdates(db: Db, importId: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from import_items where import_id = $1 and changed is not null and state = 'succeeded'`,
    [importId],
  );
  return rows[0]?.n ?? 0;
}

/** Webhooks that are pending, or failed in the last seven days, each counted up to MOST_WEBHOOKS. */
export interface WebhookFacts {
  pending: number;
  failedLastWeek: number;
}

/** Counting stops here: a larger number would say no more than "very many". */
const MOST_WEBHOOKS = 100_000;

/** For an IAM_OWNER only. */
export async function webhookFacts(db: Db): Promise<WebhookFacts> {
  const counted = (condition: string) =>
    `(select count(*)::int from (select from webhook_deliveries where ${condition} limit ${MOST_WEBHOOKS}) as d)`;
  const { rows } = await db.query<WebhookFacts>(
    `select ${counted(`state = 'pending'`)} as pending,
       ${counted(`state = 'failed' and settled_at > now() - interval '7 days'`)} as "failedLastWeek"`,
  );
  return rows[0] ?? { pending: 0, failedLastWeek: 0 };
}

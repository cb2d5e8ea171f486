/** Users' accounts at other identity providers; they are stored and readable, but not used to log in. */
import { z } from 'zod';
import type { Db } from '../db/pool.ts';
import { eachOnce } from '../fields/cross-fields.ts';
import { requiredText } from '../fields/fields.ts';

const MAX_LINKS = 10_000;

export interface IdpLink {
  idpId: string;
  /** Id and name of the user at the provider. */
  userId: string;
  userName: string;
}

/** A list of links, each to a different account. */
export function idpLinkList() {
  return z
    .array(z.object({ idpId: requiredText(200), userId: requiredText(200), userName: requiredText(200) }))
    .max(MAX_LINKS, `must have at most ${MAX_LINKS} elements`)
    .check(eachOnce('idpId', 'userId'));
}

/** Adds links to a user who has no links to these accounts yet. */
export async function insertLinks(db: Db, userId: string, links: readonly IdpLink[]): Promise<void> {
  await db.query(
    `insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
     select $1, * from unnest($2::text[], $3::text[], $4::text[])`,
    [userId, links.map((l) => l.idpId), links.map((l) => l.userId), links.map((l) => l.userName)],
  );
}

/** The user's accounts at identity providers. */
export async function linksOf(db: Db, userId: string): Promise<IdpLink[]> {
  const { rows } = await db.query<IdpLink>(
    `select idp_id as "idpId", external_user_id as "userId", display_name as "userName"
     from user_idp_links where user_id = $1 order by idp_id, external_user_id`,
    [userId],
  );
  return rows;
}

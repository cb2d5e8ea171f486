/**
 * How many text messages the users of an organization get in a day of UTC: whoever makes it send them makes it pay.
 *
 * Guarantee: all processes together send at most the limit of the organization, or else SMS_PER_DAY. What strangers can
 * ask for leaves a tenth of it, for people who have signed in from their network lately or have proved their password.
 * On crash: a message that was counted and not sent stays counted.
 */
import type { Config } from '../../platform/config.ts';
import { ORG_COUNTS, takeWithin } from '../../platform/db/counts.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import type { OrgLimits } from '../../platform/db/tables.ts';

const DAY_MS = 24 * 60 * 60_000;
/** One part in so many is kept from strangers. */
const KEPT = 10;

type CapConfig = Pick<Config, 'SMS_PER_DAY'>;

export interface TextOf {
  orgId: string;
  /** The limit of the organization; null: SMS_PER_DAY. */
  most: number | null;
  /** Anybody may have asked for it. */
  byStranger?: boolean;
}

/** Counts one text message of the organization; false: it has had all of the day. */
export async function takeText(
  db: Db,
  { SMS_PER_DAY }: CapConfig,
  { orgId, most, byStranger = false }: TextOf,
): Promise<boolean> {
  if (most === null && SMS_PER_DAY === 0) return true;
  const limit = most ?? SMS_PER_DAY;
  const reach = byStranger ? limit - Math.floor(limit / KEPT) : limit;
  return takeWithin(db, ORG_COUNTS.texts(orgId), reach, DAY_MS);
}

/** `takeText` for a code that somebody asks for, with the limit of the organization as it is. */
export async function takeTextOfOrg(db: Db, config: CapConfig, of: Omit<TextOf, 'most'>): Promise<boolean> {
  const text = `select most from org_limits where org_id = $1 and name = 'smsPerDay'`;
  const { rows } = await db.query<Pick<OrgLimits, 'most'>>(prepared(text, [of.orgId]));
  return takeText(db, config, { ...of, most: rows[0]?.most ?? null });
}

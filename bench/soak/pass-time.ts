/**
 * Lets time pass for what the service keeps: what is older than AGED_AFTER becomes older than it is ever kept, so that
 * the service's own sweeps remove it during the run. Tables that should shrink then stay as large as what is new.
 */
import type { Pool } from '../../src/platform/db/pool.ts';

const AGED_AFTER = `interval '20 seconds'`;
const YEARS = `interval '2 years'`;

/** Rows that passed AGED_AFTER, but have not been aged yet. */
function aged(column: string): string {
  return `${column} < now() - ${AGED_AFTER} and ${column} > now() - interval '1 day'`;
}

function ageBy(table: string, column: string): string {
  return `update ${table} set ${column} = ${column} - ${YEARS} where ${aged(column)}`;
}

const STEPS = [
  // Unused codes of mails that are about to be removed have expired.
  `update codes c set expires_at = expires_at - ${YEARS} from mail_outbox m
   where m.code_id = c.id and c.expires_at > now() and ${aged('m.settled_at')}`,
  ageBy('mail_outbox', 'settled_at'),
  ageBy('codes', 'used_at'),
  ageBy('sessions', 'created_at'),
  ageBy('login_delays', 'last_failure_at'),
  ageBy('audit_events', 'created_at'),
  `update imports set finished_at = finished_at - ${YEARS} where state = 'succeeded' and ${aged('finished_at')}`,
  // An access token is valid for an hour.
  `update oauth_models set expires_at = now() where kind = 'ClientCredentials'
     and expires_at < now() + interval '1 hour' - ${AGED_AFTER} and expires_at > now()`,
];

export async function passTime(db: Pool): Promise<void> {
  for (const step of STEPS) await db.query(step);
}

/**
 * Who of an import has signed in since: the counts, by way and day. The sign-in itself keeps the first one of each user
 * (src/signin/login/attempts.ts).
 *
 * Guarantee: the time of a reading grows with the users who have signed in, not with the import.
 */
import type { ImportResult } from '../../contract/import-types.ts';
import type { Way } from '../../contract/sign-in.ts';
import type { Pool } from '../../platform/db/pool.ts';

export interface SignIns {
  signedIn: number;
  notYet: number;
  ways: Partial<Record<Way, number>>;
  days: { day: string; ways: Partial<Record<Way, number>> }[];
  mails?: SignInMails;
}

interface SignInMails {
  askedAt: string;
  state: 'WRITING' | 'WRITTEN' | 'STOPPED';
  users: number;
  sent: number;
  failed: number;
}

export async function readSignIns(pool: Pool, { importId, counts }: ImportResult): Promise<SignIns> {
  const { rows } = await pool.query<{ day: string; way: string; users: number }>({
    name: 'first-sign-ins',
    text: `select to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day, way::text, count(*)::int as users
      from first_sign_ins where import_id = $1 group by 1, 2 order by 1, 2`,
    values: [importId],
  });
  const days = new Map<string, SignIns['ways']>();
  const ways: SignIns['ways'] = {};
  for (const { day, way: stored, users } of rows) {
    const way = stored.toUpperCase() as Way;
    days.set(day, { ...days.get(day), [way]: users });
    ways[way] = (ways[way] ?? 0) + users;
  }
  const signedIn = rows.reduce((sum, { users }) => sum + users, 0);
  return {
    signedIn,
    notYet: Math.max(0, counts.succeeded - signedIn),
    ways,
    days: [...days].map(([day, byWay]) => ({ day, ways: byWay })),
    ...(await readMails(pool, importId)),
  };
}

/** The mails to those who have not signed in, if somebody has asked for them. */
async function readMails(pool: Pool, importId: string): Promise<Pick<SignIns, 'mails'>> {
  const { rows } = await pool.query<SignInMails>({
    name: 'sign-in-mails',
    text: `select to_json(asked_at at time zone 'UTC') #>> '{}' || 'Z' as "askedAt", users, sent, failed,
        case when stopped then 'STOPPED' when next is null then 'WRITTEN' else 'WRITING' end as state
      from import_sign_in_mails where import_id = $1`,
    values: [importId],
  });
  return rows[0] ? { mails: rows[0] } : {};
}

/**
 * Single imports: 200 means that the user exists, once and with the id of the answer; 504 to a request without a key
 * means that the user never will; equal requests with the same key get the same answer; a user who exists has one event and the mail that is due.
 * Without either answer, the user may exist or not.
 */
import type { Db } from '../../src/platform/db/pool.ts';
import type { Kind, Problem } from '../client/sent.ts';
import type { SentSingle } from '../client/singles.ts';
import { type Arrived, isExcused } from './mails.ts';

interface Found {
  id: string;
  userName: string;
  events: number;
}

export async function findWrongSingles(
  db: Db,
  orgIds: readonly string[],
  sent: SentSingle[],
  { copies, troubles }: Arrived,
): Promise<Problem[]> {
  const users = await usersOf(db, orgIds, sent);
  const names = (wrong: (one: SentSingle, user: Found | undefined) => boolean) =>
    sent.filter((one) => wrong(one, users.get(one.userName))).map(({ userName }) => userName);
  const statuses = ({ answers }: SentSingle) => answers.map(({ status }) => status);
  const mailsOf = ({ email }: SentSingle) => copies.get(email) ?? [];
  const found: [Kind, string, string[]][] = [
    [
      'stuck',
      'requests with a wrong answer',
      sent.flatMap(({ userName, wrong }) => (wrong ? `${userName}: ${wrong}` : [])),
    ],
    ['lost', 'users who do not exist after 200', names((one, user) => statuses(one).includes(200) && !user)],
    ['late', 'users who exist after 504', names((one, user) => statuses(one).includes(504) && user !== undefined)],
    ['doubled', 'ids that differ from the answer', names((one, user) => user !== undefined && hasOtherId(one, user))],
    [
      'doubled',
      'keys with two answers',
      names((one) => new Set(one.answers.map(({ status, userId }) => `${status} ${userId}`)).size > 1),
    ],
    ['doubled', 'users without exactly one event', names((_, user) => user !== undefined && user.events !== 1)],
    [
      'mailsMissing',
      'users without their mail',
      names((one, user) => user !== undefined && one.mailDue && mailsOf(one).length === 0),
    ],
    [
      'mailsDoubled',
      'mails that are not due',
      names((one, user) => (!user || !one.mailDue) && mailsOf(one).length > 0),
    ],
    ['mailsDoubled', 'users with two mails', names((one) => !isExcused(mailsOf(one), troubles))],
  ];
  return found.flatMap(([kind, what, ids]) =>
    ids.length === 0 ? [] : [{ kind, name: 'single imports', importId: '', what, ids }],
  );
}

function hasOtherId({ answers }: SentSingle, { id }: Found): boolean {
  return answers.some(({ userId }) => userId !== undefined && userId !== id);
}

async function usersOf(db: Db, orgIds: readonly string[], sent: SentSingle[]): Promise<Map<string, Found>> {
  const { rows } = await db.query<Found>(
    `select u.id, u.user_name as "userName", count(e)::int as events
     from users u left join history e on e.aggregate_id = u.id and e.type = 'user.human.imported'
     where org_id = any($1) and user_name_key = any($2) group by u.id`,
    [orgIds, sent.map(({ userName }) => userName)],
  );
  return new Map(rows.map((row) => [row.userName, row]));
}

/**
 * Mails: one for each user who is due one, none for anybody else.
 *
 * A mail may arrive twice only if its sender could not record the first delivery: the connection broke before the
 * reply, or its process or PostgreSQL failed between the end of the data and the record. Then both have the same
 * Message-ID and, unless an update renamed the user in between, the same bytes.
 */
import type { Db } from '../../src/platform/db/pool.ts';
import { type Problem, problem, type SentImport, type SentUser } from '../client/sent.ts';
import type { Copy } from '../stand/smtp.ts';
import type { Troubles } from '../stand/troubles.ts';
import type { Rows } from './rows.ts';

export interface Arrived {
  /** By address. */
  copies: Map<string, Copy[]>;
  troubles: Pick<Troubles, 'any'>;
}

/** How long a sender may take to record a reply. */
const RECORD_MS = 2000;
/** A `slow` server replies after a second. */
const REPLY_MS = 1500;

export async function findWrongMails(
  db: Db,
  sent: SentImport,
  rows: Rows,
  arrived: Arrived,
): Promise<(Problem | undefined)[]> {
  const copiesOf = (user: SentUser) => arrived.copies.get(user.email) ?? [];
  const created = sent.users.filter(({ fate }) => fate === 'created');
  const unwritten = sent.users.filter(({ fate }, i) => fate === 'created' && rows.items[i]?.state === 'pending');
  const names = (wrong: (user: SentUser) => boolean) => created.filter(wrong).map(({ userName }) => userName);
  const isDue = ({ mailDue }: SentUser) => mailDue && !sent.held && !sent.dryRun;
  const isThere = ({ userName }: SentUser) => rows.users.get(userName)?.importId === rows.import.id;
  return [
    problem(
      sent,
      'mailsMissing',
      'users without their mail',
      names((user) => isDue(user) && isThere(user) && copiesOf(user).length === 0),
    ),
    problem(
      sent,
      'mailsDoubled',
      'users with a mail that is not due',
      names((user) => !isDue(user) && copiesOf(user).length > 0),
    ),
    problem(
      sent,
      'mailsDoubled',
      'mails to users who were never written',
      unwritten.filter((user) => copiesOf(user).length > 0).map(({ userName }) => userName),
    ),
    problem(
      sent,
      'mailsDoubled',
      'users with two mails',
      names((user) => !isExcused(copiesOf(user), arrived.troubles, isRenamed(user))),
    ),
    problem(sent, 'mailsDoubled', 'users with two mails in the outbox', await twiceInOutbox(db, rows)),
  ];
}

/** How many mails arrived again and may do so. */
export function countRepeated(sent: SentImport, { copies, troubles }: Arrived): number {
  const excused = sent.users
    .filter(({ fate }) => fate === 'created')
    .flatMap((user) => {
      const same = copies.get(user.email) ?? [];
      return isExcused(same, troubles, isRenamed(user)) ? [same] : [];
    });
  return excused.reduce((sum, same) => sum + Math.max(0, same.length - 1), 0);
}

/** Whether an update of the round gives the user, whom some mails name, another name. */
function isRenamed({ familyNames }: SentUser): boolean {
  return familyNames.length > 1;
}

/** Whether each of these mails to one address may have arrived. @param mayDiffer but for the Message-ID */
export function isExcused(copies: Copy[], troubles: Arrived['troubles'], mayDiffer = false): boolean {
  const keys = copies.map(({ digest, messageId }) => (mayDiffer ? messageId : `${messageId} ${digest}`));
  return new Set(keys).size <= 1 && copies.slice(0, -1).every((copy) => couldNotRecord(copy, troubles));
}

function couldNotRecord({ replied, sender, at }: Copy, troubles: Arrived['troubles']): boolean {
  const until = at + REPLY_MS + RECORD_MS;
  return !replied || [sender, 'postgres'].some((place) => troubles.any(place, at, until));
}

async function twiceInOutbox(db: Db, { import: { id } }: Rows): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select user_id as id from mail_outbox where import_id = $1 group by user_id having count(*) > 1',
    [id],
  );
  return rows.map((row) => row.id);
}

/**
 * Lost: an accepted user without a final state or with another one than it must have, a success without its user, a
 * user that differs from what was sent, and a user that nobody sent.
 */
import type { Db } from '../../src/platform/db/pool.ts';
import { type Problem, problem, type SentImport, type SentUser } from '../client/sent.ts';
import type { SentSingle } from '../client/singles.ts';
import type { ItemRow, Rows, UserRow } from './rows.ts';

const FINAL = { created: 'succeeded', updated: 'succeeded', skipped: 'skipped', failed: 'failed' } as const;

export function findLost(sent: SentImport, rows: Rows): (Problem | undefined)[] {
  const pairs = sent.users.map((user, i) => ({ user, item: rows.items[i] }));
  const names = (wrong: (user: SentUser, item: ItemRow) => boolean) =>
    pairs.flatMap(({ user, item }) => (item && wrong(user, item) ? [user.userName] : []));
  const isWritten = (user: SentUser, item: ItemRow) =>
    !sent.dryRun && item.state === 'succeeded' && user.fate !== 'failed';
  return [
    problem(
      sent,
      'lost',
      'users without an item',
      pairs.flatMap(({ user, item }) => (item ? [] : [user.userName])),
    ),
    problem(
      sent,
      'lost',
      'items of another user',
      names((user, item) => !isItemOf(user, item)),
    ),
    problem(
      sent,
      'lost',
      `items without the state that an import in state ${rows.import.state} must give them`,
      names((user, item) => !statesOf(user, rows.import.state).includes(item.state)),
    ),
    problem(
      sent,
      'lost',
      'successes without their user',
      names((user, item) => isWritten(user, item) && !rows.users.has(user.userName)),
    ),
    problem(
      sent,
      'lost',
      'users that differ from what was sent',
      names((user, item) => isWritten(user, item) && differs(user, item, rows.users.get(user.userName))),
    ),
  ];
}

/** An item of an invalid entry may lack its names. */
function isItemOf(user: SentUser, item: ItemRow): boolean {
  if (item.orgId !== user.orgId) return false;
  if (user.userId !== undefined && item.userId !== null && item.userId !== user.userId) return false;
  return item.userName === null || item.userName === user.userName;
}

/** The states in the table that the item may have; a pending one reads as timed out or cancelled. */
function statesOf(user: SentUser, importState: string): string[] {
  const final: string = FINAL[user.fate];
  if (['succeeded', 'completed_with_errors'].includes(importState)) return [final];
  if (importState !== 'undone') return [final, 'pending'];
  return user.fate === 'created' ? ['undone', 'pending'] : [final, 'pending'];
}

function differs(sent: SentUser, item: ItemRow, row: UserRow | undefined): boolean {
  if (!row) return false; // reported as missing
  const isSame =
    row.id === item.userId &&
    row.orgId === sent.orgId &&
    row.email === sent.email &&
    row.state === sent.state &&
    sent.familyNames.includes(row.familyName);
  return !isSame;
}

/** Users of the round's organizations that nobody has sent. */
export async function findUnsent(
  db: Db,
  orgIds: readonly string[],
  sent: SentImport[],
  singles: SentSingle[],
): Promise<string[]> {
  const users = [...sent.flatMap((one) => one.users), ...singles];
  const names = new Set(users.map(({ userName }) => userName));
  const { rows } = await db.query<{ user_name: string }>(
    `select user_name from users where org_id = any($1) and kind = 'human'`,
    [orgIds],
  );
  return rows.map((row) => row.user_name).filter((name) => !names.has(name));
}

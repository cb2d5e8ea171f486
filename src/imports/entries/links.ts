/**
 * Which accounts at providers and which phone numbers several users have, before and after an import has written its users: such an account
 * signs in none of them. The items keep the names of the other links (`links`), from which predictions are made
 * (sign-in.ts). Names that are aliases of one preset are compared as one provider before that provider is set up, too.
 *
 * Guarantee: one statement, whose time is linear in the users with links; an import without links pays nothing. It
 * changes only items that differ.
 */
import { PRESET_OF_ALIAS } from '../../contract/idp-presets.ts';
import { allowLong } from '../../platform/db/client.ts';
import type { Db } from '../../platform/db/pool.ts';
import { readStatement } from '../../platform/db/statement.ts';

const JUDGE = readStatement(new URL('judge-links.sql', import.meta.url), {
  parameters: ['importId', 'entriesOf', 'presets'],
});

const JUDGE_PHONES = readStatement(new URL('judge-phones.sql', import.meta.url), {
  parameters: ['importId', 'entriesOf'],
});

/**
 * Finds verified numbers that two users of an organization have, and notes them in the items of users who may need them
 * to sign in. Parameters and result as those of `judgeLinks`.
 */
export function judgePhones(db: Db, importId: string, entriesOf = importId): Promise<boolean> {
  return judge(db, JUDGE_PHONES.bind({ importId, entriesOf }));
}

/**
 * Finds accounts that are held twice, and notes them in the items.
 * @param entriesOf the draft whose entries the check `importId` judges
 * @returns whether an item has changed
 */
export function judgeLinks(db: Db, importId: string, entriesOf = importId): Promise<boolean> {
  return judge(db, JUDGE.bind({ importId, entriesOf, presets: JSON.stringify(PRESET_OF_ALIAS) }));
}

async function judge(db: Db, statement: ReturnType<typeof JUDGE.bind>): Promise<boolean> {
  await allowLong(db);
  // The planner has no statistics yet for rows that were just copied in, and would compare each with each.
  await db.query('set local enable_nestloop = off');
  const { rowCount } = await db.query(statement);
  await db.query('set local enable_nestloop = on');
  return (rowCount ?? 0) > 0;
}

/** Compares the database, the mails and the webhooks with what a round sent. */
import type { Db } from '../../src/platform/db/pool.ts';
import type { CaughtWebhook } from '../../test/support/receiver.ts';
import type { Calls } from '../client/calls.ts';
import { idOf, type Problem, type SentImport } from '../client/sent.ts';
import type { SentSingle } from '../client/singles.ts';
import { findWrongAnswers } from './answers.ts';
import { findWrongCounts } from './counts.ts';
import { findDoubled, findUnknownImports } from './doubled.ts';
import { findLate } from './late.ts';
import { findLost, findUnsent } from './lost.ts';
import { type Arrived, findWrongMails } from './mails.ts';
import { readRows } from './rows.ts';
import { findWrongSingles } from './singles.ts';
import { findWrongWebhooks } from './webhooks.ts';

export interface Evidence extends Arrived {
  db: Db;
  calls: Calls;
  /** The organizations of the round. */
  orgIds: readonly string[];
  messages: CaughtWebhook[];
  webhookSecret: string;
}

/** Everything that is wrong, once nothing runs any more. */
export async function check(sent: SentImport[], evidence: Evidence, singles: SentSingle[] = []): Promise<Problem[]> {
  const { db, orgIds } = evidence;
  const found: Problem[] = [];
  for (const one of sent) found.push(...one.problems, ...(await checkImport(one, evidence)));
  const ofRound = (kind: 'lost' | 'doubled', what: string, ids: string[]): Problem[] =>
    ids.length === 0 ? [] : [{ kind, name: 'the round', importId: '', what, ids }];
  return [
    ...found,
    ...(await findWrongSingles(db, orgIds, singles, evidence)),
    ...ofRound('lost', 'users that nobody sent', await findUnsent(db, orgIds, sent, singles)),
    ...ofRound('doubled', 'imports that no caller was answered', await findUnknownImports(db, orgIds, sent)),
  ];
}

async function checkImport(sent: SentImport, evidence: Evidence): Promise<Problem[]> {
  const { db, calls, messages, webhookSecret } = evidence;
  const rows = await readRows(db, sent);
  // It was never answered, which its own problems say.
  if (!rows && idOf(sent) === undefined && sent.problems.length > 0) return [];
  if (!rows)
    return [
      { kind: 'lost', name: sent.name, importId: '', what: 'the import was accepted and is gone', ids: [sent.name] },
    ];
  const found = [
    ...findLost(sent, rows),
    ...(await findDoubled(db, sent, rows)),
    ...(await findLate(db, sent, rows)),
    ...(await findWrongCounts(db, sent, rows)),
    ...(await findWrongAnswers(calls, sent, rows)),
    ...(await findWrongMails(db, sent, rows, evidence)),
    ...findWrongWebhooks(sent, rows, messages, webhookSecret),
  ];
  return found.filter((one) => one !== undefined);
}

/** Wrong counts: those of the import, its organizations, mails and causes, and the state that follows from them. */
import type { Db } from '../../src/platform/db/pool.ts';
import { type Problem, problem, type SentImport } from '../client/sent.ts';
import type { ItemRow, Rows } from './rows.ts';

const STATES = ['succeeded', 'skipped', 'failed', 'undone'] as const;
type Tally = Record<'total' | (typeof STATES)[number], number>;

export async function findWrongCounts(db: Db, sent: SentImport, rows: Rows): Promise<(Problem | undefined)[]> {
  const wrong = (what: string, differences: string[]) => problem(sent, 'wrongCounts', what, differences);
  return [
    wrong('counts of the import', differences(rows.import, tally(rows.items))),
    wrong('counts of organizations', await ofOrgs(db, rows)),
    wrong('counts of mails', await ofMails(db, sent, rows)),
    wrong('counts of causes', await ofCauses(db, rows)),
    wrong('the state', stateFits(rows) ? [] : [rows.import.state]),
  ];
}

export function tally(items: ItemRow[]): Tally {
  const count = (state: string) => items.filter((item) => item.state === state).length;
  return {
    total: items.length,
    succeeded: count('succeeded'),
    skipped: count('skipped'),
    failed: count('failed'),
    undone: count('undone'),
  };
}

/** `succeeded: 7, not 8` */
export function differences(found: Tally, wanted: Tally): string[] {
  const names = ['total', ...STATES] as const;
  return names.flatMap((name) =>
    found[name] === wanted[name] ? [] : [`${name}: ${found[name]}, not ${wanted[name]}`],
  );
}

async function ofOrgs(db: Db, { import: { id }, items }: Rows): Promise<string[]> {
  const { rows } = await db.query<Tally & { orgId: string }>(
    `select org_id as "orgId", sum(total)::int as total, sum(succeeded)::int as succeeded, sum(skipped)::int as skipped,
       sum(failed)::int as failed, sum(undone)::int as undone
     from import_orgs where import_id = $1 group by org_id`,
    [id],
  );
  return rows.flatMap((row) => {
    const wanted = tally(items.filter(({ orgId }) => orgId === row.orgId));
    return differences(row, wanted).map((text) => `${row.orgId} ${text}`);
  });
}

/** The mails of users who were removed are removed with them; a dry run counts the mails that would be due. */
async function ofMails(db: Db, sent: SentImport, { import: found, items }: Rows): Promise<string[]> {
  const { rows } = await db.query<{ due: number; sent: number; failed: number }>(
    `select count(*)::int as due, count(*) filter (where state = 'sent')::int as sent,
       count(*) filter (where state = 'failed')::int as failed
     from mail_outbox where import_id = $1`,
    [found.id],
  );
  const would = sent.users.filter(({ mailDue }, i) => mailDue && items[i]?.state === 'succeeded').length;
  const inOutbox = rows[0] ?? { due: 0, sent: 0, failed: 0 };
  const isUndone = found.undone > 0;
  const pairs = [
    ['due', found.mails_due, sent.dryRun ? would : inOutbox.due],
    ['sent', found.mails_sent, inOutbox.sent],
    ['failed', found.mails_failed, inOutbox.failed],
  ] as const;
  return pairs.flatMap(([name, has, wanted]) =>
    has === wanted || (isUndone && has > wanted) ? [] : [`mails ${name}: ${has}, not ${wanted}`],
  );
}

/** Counts of causes may be missing, as readers then count the users, but never too high (src/imports/entries/item.ts). */
async function ofCauses(db: Db, { import: { id } }: Rows): Promise<string[]> {
  const { rows } = await db.query<{ error: unknown; counted: number; failed: number }>(
    `select error, counted, (select count(*)::int from import_items i
       where i.import_id = $1 and i.state = 'failed' and i.error = c.error) as failed
     from (select error, sum(users)::int as counted from import_failures where import_id = $1 group by error) c`,
    [id],
  );
  return rows
    .filter(({ counted, failed }) => counted > failed)
    .map(({ error, counted, failed }) => `${JSON.stringify(error)}: ${counted}, not ${failed}`);
}

function stateFits({ import: { state }, items }: Rows): boolean {
  const { failed } = tally(items);
  const pending = items.filter((item) => item.state === 'pending').length;
  if (state === 'succeeded') return pending === 0 && failed === 0;
  if (state === 'completed_with_errors') return pending === 0 && failed > 0;
  return true;
}

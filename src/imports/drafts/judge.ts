/**
 * The check of a draft: a dry run of its own that judges the draft's entries where they are, in order, batch by batch.
 * It stores outcomes only of entries that fail, are skipped or change a user, and how far it has come: every other
 * entry before that place would be created.
 *
 * Guarantee: an entry is judged once. A batch is one transaction, which locks the row of the dry run last, as every batch
 * of an import does, and writes nothing unless the dry run still runs and is where the batch begins. Nobody changes the
 * entries meanwhile: a draft that is being checked takes no correction.
 * On crash: the next worker continues behind the last batch.
 */
import type { Logger } from 'pino';
import { requireWithinLimits } from '../../directory/organization-limits.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { sqlState } from '../../platform/db/faults.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import { readStatement } from '../../platform/db/statement.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { loggable } from '../../platform/logger.ts';
import { PASSWORD_PURPOSE } from '../entries/item.ts';
import type { HashCount } from '../entries/notes.ts';
import { auditOf, keepOptions } from '../entries/options.ts';
import { publishBatch, type SettledBatch } from '../entries/outcome.ts';
import { activate, createReceiving } from '../intake/accept.ts';
import { copyAuthors, requireAuthors } from '../intake/authority.ts';
import { checkEntriesOf } from '../intake/checks.ts';
import { addFound, type Judged, judge, mailCountOf } from '../run/dry-run.ts';
import { loadEntries } from '../run/existing-users.ts';
import { BROKEN, faultOf } from '../run/stores.ts';
import { itemsOf, type Settled, settledOf } from '../run/update-users.ts';
import { NOT_RUNNING } from '../run/write-batch.ts';
import { countSignInsOnce } from '../status/sign-in-counts.ts';
import { acceptanceOf, orgIdsOf, runOptions } from './check.ts';
import type { Run } from './convert.ts';
import { beganCheck, countAnew, type Job } from './convert-lease.ts';
import type { ConversionResult, Draft, RunSettings } from './draft.ts';

/** The most entries of a batch. */
const BATCH = 1000;
/** Passwords that are compared before their entries are judged. */
const PASSWORDS = 16;
/** In place of the hash of a password that differs from the user's; it is never stored. */
const ANOTHER = 'another password';

export interface JudgeDeps {
  pool: Pool;
  secrets: Secrets;
  hasher: Pick<Hasher, 'verify'>;
  logger: Logger;
}

interface Check {
  checkId: string;
  draftId: string;
}

/** The entries of a batch. */
interface Range {
  from: number;
  to: number;
}

/** Makes a requested check, or continues it. Returns when its dry run has ended, or does not run. */
export async function makeCheck(deps: JudgeDeps, job: Job, draft: Draft, run: Run): Promise<void> {
  const check = { checkId: draft.checkId ?? (await begin(deps.pool, job, draft)), draftId: draft.importId };
  const { total } = draft.result as ConversionResult;
  let [from, size] = [await judgedTo(deps.pool, check), BATCH];
  try {
    while (from < total) {
      await run.requireJob();
      const to = await judgeBatch(deps, check, { from, to: Math.min(total, from + size) }, run);
      size = to === from + size ? Math.min(BATCH, 2 * size) : Math.max(PASSWORDS, 2 * (to - from));
      from = to;
      run.progress.users = from;
      await countAnew(deps.pool, job);
    }
    await requireEnded(deps.pool, check);
    // While the entries are there.
    await countSignInsOnce(deps.pool, check.checkId);
  } catch (error) {
    if (sqlState(error) !== NOT_RUNNING) throw error;
  }
}

/** Starts the dry run, whose id it returns. */
async function begin(pool: Pool, job: Job, draft: Draft): Promise<string> {
  const result = draft.result as ConversionResult;
  const settings = draft.settings as RunSettings;
  const options = { ...runOptions(settings, result), dryRun: true };
  const { checkId, settled } = await transaction(pool, async (db) => {
    const checkId = await createReceiving(db, { userId: settings.by, orgId: draft.resourceOwner }, draft.source);
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: checkId,
      resourceOwner: draft.resourceOwner,
      type: 'import.accepted',
      editor: settings.by,
      payload: { total: result.total, ...auditOf(options), draft: draft.importId },
    });
    await keepOptions(db, checkId, options, result.hashes as HashCount[]);
    await copyAuthors(db, draft.importId, checkId);
    await requireAuthors(db, checkId, orgIdsOf(result.orgs));
    await checkEntriesOf(db, checkId, draft.importId);
    const acceptance = { ...acceptanceOf(result, settings), entriesOf: draft.importId };
    const settled = await activate(db, { importId: checkId, sequence, ...acceptance });
    await requireWithinLimits(db, checkId);
    if (!(await beganCheck(db, job, checkId))) throw new Error('another worker checks the draft');
    return { checkId, settled };
  });
  publishBatch(settled);
  return checkId;
}

async function judgedTo(db: Db, { checkId }: Check): Promise<number> {
  const text = 'select judged_to as "judgedTo" from import_dry_runs where import_id = $1';
  const { rows } = await db.query<{ judgedTo: number }>(text, [checkId]);
  return rows[0]?.judgedTo ?? 0;
}

/** A process of an earlier version may have dropped the entries without ending the check. */
async function requireEnded(db: Db, { checkId }: Check): Promise<void> {
  const { rowCount } = await db.query(`select from imports where id = $1 and state = 'running'`, [checkId]);
  if (rowCount) throw new Error('entries of the draft are missing');
}

/**
 * Judges the next entries. A batch that fails for an unknown reason is halved; an entry that cannot be judged fails
 * alone, so that it cannot block the check.
 * @returns how far it has come
 * @throws pg.DatabaseError with code MU001 when the dry run does not run
 */
async function judgeBatch(deps: JudgeDeps, check: Check, range: Range, run: Run): Promise<number> {
  const { from, to } = range;
  try {
    return await judgeOnce(deps, check, range, run);
  } catch (error) {
    await run.requireJob();
    if (sqlState(error) === NOT_RUNNING || faultOf(error).kind === 'retry') throw error;
    if (to - from > 1) return judgeBatch(deps, check, { from, to: from + ((to - from) >> 1) }, run);
    deps.logger.error({ err: loggable(error), importId: check.checkId }, 'an entry could not be judged');
    await settleAll(deps.pool, check, range, async () => ({ failed: from }));
    return to;
  }
}

/** @returns how far it has come: less far if passwords have to be compared, which takes long */
async function judgeOnce(deps: JudgeDeps, check: Check, range: Range, run: Run): Promise<number> {
  const open = await settleAll(deps.pool, check, range, (db) => judgeEntries(db, check, range));
  if (open.length === 0) return range.to;
  const to = open[PASSWORDS]?.item.ordinal ?? range.to;
  const hashes = await comparePasswords(deps, check, open.slice(0, PASSWORDS), run);
  const shorter = { from: range.from, to };
  const more = await settleAll(deps.pool, check, shorter, (db) => judgeEntries(db, check, shorter, hashes));
  return more.length === 0 ? to : range.from; // users were created meanwhile
}

/** @param hashes of entries with a password, instead of it */
async function judgeEntries(db: Db, { checkId, draftId }: Check, range: Range, hashes?: ReadonlyMap<number, string>) {
  const candidates = await loadEntries(db, { checkId, entriesOf: draftId, ...range });
  const items = candidates.items.map((item) => {
    const hash = hashes?.get(item.ordinal);
    return hash === undefined ? item : { ...item, password_hash: hash, is_sealed: false };
  });
  return judge(db, checkId, draftId, { ...candidates, items });
}

/** The user's hash for each password that is the user's, so that the entry changes nothing; see `sameHash`. */
async function comparePasswords(
  { pool, secrets, hasher }: JudgeDeps,
  { draftId }: Check,
  open: Judged['open'],
  run: Run,
): Promise<Map<number, string>> {
  const { rows } = await pool.query<{ ordinal: number; sealed: string }>(
    `select ordinal, password_sealed as sealed from import_items
     where import_id = $1 and ordinal = any($2::int[]) and password_sealed is not null`,
    [draftId, open.map(({ item }) => item.ordinal)],
  );
  const sealed = new Map(rows.map((row) => [row.ordinal, row.sealed]));
  const hashes = new Map<number, string>();
  for (const { item, difference } of open) {
    run.check();
    const current = difference.user.password_hash;
    const plain = secrets.unseal(sealed.get(item.ordinal) ?? '', PASSWORD_PURPOSE);
    const isSame = current !== null && (await hasher.verify(current, plain)).ok;
    hashes.set(item.ordinal, isSame ? current : ANOTHER);
  }
  return hashes;
}

/** What is settled: entries that were judged, or the one that cannot be. */
type Outcomes = Judged | { failed: number };

/**
 * One transaction: judges and settles, unless passwords have to be compared first.
 * @returns the entries whose passwords have to be compared
 */
async function settleAll(
  pool: Pool,
  check: Check,
  range: Range,
  outcomesOf: (db: Db) => Promise<Outcomes>,
): Promise<Judged['open']> {
  const { open, batch } = await transaction(pool, async (db) => {
    const outcomes = await outcomesOf(db);
    if ('open' in outcomes && outcomes.open.length > 0) return { open: outcomes.open, batch: undefined };
    return { open: [], batch: await settle(db, check, range, outcomes) };
  });
  if (batch) publishBatch(batch);
  return open;
}

const SETTLE = readStatement(new URL('settle-entries.sql', import.meta.url), {
  parameters: ['checkId', 'draftId', 'items', 'from', 'to', 'created', 'mails'],
});

async function settle(
  db: Db,
  { checkId, draftId }: Check,
  { from, to }: Range,
  outcomes: Outcomes,
): Promise<SettledBatch> {
  const { told, created, mails } = toldOf(outcomes);
  await db.query('select from imports where id = $1 for update', [checkId]);
  const moved = 'update import_dry_runs set judged_to = $3 where import_id = $1 and judged_to = $2';
  const isNext = (await db.query(moved, [checkId, from, to])).rowCount === 1;
  if (!isNext) throw new Error('another worker has judged these entries');
  if ('found' in outcomes) await addFound(db, checkId, outcomes.found);
  const bound = SETTLE.bind({ checkId, draftId, items: itemsOf(told), from, to, created, mails });
  const { rows } = await db.query<SettledBatch>(bound);
  return oneRow(rows);
}

/** The outcomes that get an item, and the organizations' numbers of those that need none. */
function toldOf(outcomes: Outcomes): { told: Settled[]; created: number[]; mails: number } {
  if ('failed' in outcomes) {
    const told: Settled[] = [{ ordinal: outcomes.failed, state: 'failed', error: BROKEN }];
    return { told, created: [], mails: 0 };
  }
  const { verdicts, found } = outcomes;
  const created = verdicts.filter((v) => v.state === 'create').map(({ item }) => item.org_index);
  return { told: settledOf(verdicts), created, mails: mailCountOf(found) };
}

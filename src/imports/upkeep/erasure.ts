/**
 * Erases people: replaces the id of an erased user by a tombstone, which names nobody, in every table that outlives its
 * users, and removes their names, addresses and data from imports and audit events. docs/privacy.md says what is left.
 *
 * No index leads to most of these rows, and none is added, as every import would pay for it. So a pass reads each table
 * once, some megabytes a transaction, for all requests at the time. A row that is updated meanwhile may move behind the
 * pass; so passes are repeated until one finds nothing.
 *
 * Guarantee: a request is done only after a pass that found nothing of it. Only what was written before the request is
 * changed: an id that the organization uses again keeps its history. Names count within the organization of the user
 * only, as another one may have a user of this name. On crash: another process begins the pass again.
 */
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { SWEEP_ROWS } from '../../platform/db/sweep.ts';
import {
  ERASURE_COLUMNS,
  type Erasure,
  eraseAudit,
  eraseColumns,
  eraseEvents,
  eraseItems,
  eraseTexts,
  type Range,
} from './erase-rows.ts';

/** Blocks of a table that one transaction reads: 4 MB. */
const BLOCKS = 512;
/** Between two transactions of a pass, so that a large one slows imports little. */
const PAUSE_MS = 5;
const IDLE_MS = 5000;
/** Requests of one pass. */
const MOST = 100;

/** Erases one person in a range of a table; returns how many rows were changed. */
type Erase = (db: Db, range: Range, erasure: Erasure) => Promise<number>;

/**
 * The tables that name users who may be deleted. All other rows of a user go with the user (`delete_rows_of_users`), or
 * hold hashes and encrypted values only. A test erases a person and searches every table.
 */
export const TRACES: readonly (readonly [table: string, erase: Erase])[] = [
  ['import_items', eraseItems],
  ['events', eraseEvents],
  ['audit_events', eraseAudit],
  ['imports', eraseColumns('imports', ['created_by', 'run_by', 'undo_by'])],
  ['import_authors', eraseColumns('import_authors', ['author'])],
  ['import_sign_in_mails', eraseColumns('import_sign_in_mails', ['asked_by'])],
  ['password_sources', eraseColumns('password_sources', ['set_by'])],
  ['idps', eraseColumns('idps', ['set_by'])],
  ['sessions', eraseColumns('sessions', ['opened_by'])],
  ...eraseTexts,
];

interface Pass {
  erasures: Erasure[];
  /** Index in TRACES. */
  trace: number;
  /** The next block of its table; 0 before the table's size is known. */
  block: number;
  blocks: number;
  found: number;
}

/** @returns a round of the duty: reads some blocks of a table, and returns the pause until the next round */
export function openEraser(pool: Pool): () => Promise<number> {
  let pass: Pass | undefined;
  return async () => {
    pass ??= await newPass(pool);
    if (!pass) return (await hashRemovedIds(pool)) < SWEEP_ROWS ? IDLE_MS : PAUSE_MS;
    const current = pass;
    // A fault ends the pass.
    pass = undefined;
    if (await step(pool, current)) pass = current;
    else if (current.found === 0) await finish(pool, current.erasures);
    return PAUSE_MS;
  };
}

/** Moves some ids of deleted users, which earlier versions stored as they are, to where they are hashes. */
async function hashRemovedIds(db: Db): Promise<number> {
  const { rowCount } = await db.query(
    `with old as (
       delete from removed_user_ids where id = any(array(
         select id from removed_user_ids order by id limit ${SWEEP_ROWS} for update skip locked))
       returning id, org_id)
     insert into removed_users (id_hash, org_id) select removed_id_hash(id), org_id from old
     on conflict (id_hash) do update set org_id = removed_users.org_id`,
  );
  return rowCount ?? 0;
}

async function newPass(db: Db): Promise<Pass | undefined> {
  const { rows } = await db.query<Erasure>(`select ${ERASURE_COLUMNS} from erasures order by created_at limit ${MOST}`);
  return rows.length === 0 ? undefined : { erasures: rows, trace: 0, block: 0, blocks: -1, found: 0 };
}

/** Reads the next blocks. Returns whether there are more, in this table or in the next one. */
async function step(pool: Pool, pass: Pass): Promise<boolean> {
  const [table, erase] = TRACES[pass.trace] as (typeof TRACES)[number];
  if (pass.blocks < 0) pass.blocks = await blocksOf(pool, table);
  if (pass.block < pass.blocks) {
    const range = { from: `(${pass.block},0)`, to: `(${pass.block + BLOCKS},0)` };
    pass.found += await transaction(pool, async (db) => {
      let changed = 0;
      for (const erasure of pass.erasures) changed += await erase(db, range, erasure);
      return changed;
    });
    pass.block += BLOCKS;
  }
  if (pass.block < pass.blocks) return true;
  Object.assign(pass, { trace: pass.trace + 1, block: 0, blocks: -1 });
  return pass.trace < TRACES.length;
}

async function blocksOf(db: Db, table: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select (pg_relation_size($1::regclass) / current_setting('block_size')::int)::float8 as n`,
    [table],
  );
  return rows[0]?.n ?? 0;
}

/** A request that was repeated meanwhile stays. */
async function finish(pool: Pool, erasures: Erasure[]): Promise<void> {
  for (const { userId, orgId, tombstone, editor, createdAt } of erasures) {
    await transaction(pool, async (db) => {
      const done = 'delete from erasures where user_id = $1 and created_at = $2';
      if ((await db.query(done, [userId, createdAt])).rowCount === 0) return;
      await appendEvent(db, {
        aggregateType: 'user',
        aggregateId: tombstone,
        resourceOwner: orgId,
        type: 'user.erased',
        editor: editor === userId ? tombstone : editor,
      });
    });
  }
}

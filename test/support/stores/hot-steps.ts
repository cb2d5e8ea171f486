/**
 * The frequent steps of the processes, each run as in production, on one connection of the same pool. If a step needs
 * an import, that is created first, outside the measurement.
 */
import assert from 'node:assert/strict';
import { undoRound } from '../../../src/imports/control/undo.ts';
import { dispatchRound } from '../../../src/imports/run/dispatch.ts';
import { specialStores } from '../../../src/imports/run/stores.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readItems } from '../../../src/imports/status/items.ts';
import { listImports, readProgress } from '../../../src/imports/status/progress.ts';
import { readResult, readWithMore } from '../../../src/imports/status/result.ts';
import { claimDue, loadMails, prepareReleased } from '../../../src/messages/mail/outbox.ts';
import { recordDeliveries } from '../../../src/messages/mail/relay.ts';
import { claimWebhooks } from '../../../src/messages/webhooks/outbox.ts';
import { OPEN_IMPORTS, OUTBOX_AGE } from '../../../src/operate/store-metrics.ts';
import { callerOfToken } from '../../../src/signin/authenticate.ts';
import { findLogin } from '../../../src/signin/login/store.ts';
import { findWork } from '../../../workers/loop.ts';
import { queueLog } from '../imports/imports.ts';
import { type Grown, plantImport, TOKEN } from './grown.ts';

const CODES = { codeTtlMs: 3_600_000 };

export interface Step {
  pool: 'writer' | 'worker' | 'api';
  /** Creates the import that `run` works on. */
  plant?: () => Promise<string>;
  run(importId: string): Promise<unknown>;
}

export interface Size {
  /** Size of a batch, and of other groups. */
  users: number;
  /** Size of the import that a batch belongs to. */
  importUsers: number;
}

export function hotSteps({ pools }: Grown, size: Size): Record<string, Step> {
  return { ...batches(pools, size), ...rounds(pools, size), ...reads(pools, size) };
}

let serial = 0;

interface Plan {
  users: number;
  /** SQL values for the import. */
  columns?: Record<string, string>;
  /** Whether its users already exist. */
  existing?: boolean;
}

async function plant(db: Grown['pools']['observer'], { users, columns, existing }: Plan): Promise<string> {
  const tag = `s${++serial}-`;
  if (existing) {
    await db.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, sequence)
       select $1 || n, 'org', 'human', 'active', $1 || n, $1 || n, 'e', 'e', 1 from generate_series(1, $2) n`,
      [tag, users],
    );
  }
  return plantImport(db, { tag, users, ...(columns ? { columns } : {}) });
}

function batches({ writer, observer }: Grown['pools'], { users, importUsers }: Size): Record<string, Step> {
  const ordinals = [...Array(users).keys()];
  const stores = specialStores(writer, CODES);
  const write = (rule: 'fail' | 'optimistic') => (id: string) => writeBatch(writer, id, ordinals, CODES, rule);
  const step = (columns: Record<string, string>, existing: boolean, run: Step['run']): Step => ({
    pool: 'writer',
    plant: () => plant(observer, { users: importUsers, columns, existing }),
    run,
  });
  return {
    'a batch of new users': step({}, false, write('optimistic')),
    'a batch of new users after a conflict': step({}, false, write('fail')),
    'a batch of existing users': step({}, true, write('fail')),
    'a batch that skips users': step({ on_existing: `'skip'` }, true, (id) => stores.skip.write(id, ordinals)),
    'a batch that updates users': step({ on_existing: `'update'` }, true, (id) => stores.update.write(id, ordinals)),
    'a batch of a dry run': {
      ...step({ on_existing: `'update'`, dry_run: 'true' }, true, (id) => stores.dry.write(id, ordinals)),
      async plant() {
        const id = await plant(observer, {
          users: importUsers,
          columns: { on_existing: `'update'`, dry_run: 'true' },
          existing: true,
        });
        await observer.query(`insert into import_dry_runs (import_id, hashes) values ($1, '[]')`, [id]);
        return id;
      },
    },
  };
}

function rounds({ writer, worker, observer }: Grown['pools'], { users, importUsers }: Size): Record<string, Step> {
  async function sendMails(): Promise<void> {
    const claimed = (await claimDue(worker, users, { handOverMs: 60_000 })).map(({ pointer }) => pointer);
    const ids = claimed.map(({ id }) => id);
    await prepareReleased(worker, ids, CODES.codeTtlMs);
    await loadMails(worker, ids);
    const sent = { importId: '1', state: 'sent', error: null, delayMs: 0 } as const;
    await recordDeliveries(
      worker,
      claimed.map((mail) => ({ ...mail, ...sent })),
    );
  }
  async function plantUndo(): Promise<string> {
    const id = await plant(observer, { users: importUsers });
    await writeBatch(writer, id, [...Array(importUsers).keys()], CODES);
    await observer.query(`update imports set state = 'undoing', undo_by = 'admin' where id = $1`, [id]);
    return id;
  }
  const dispatch = () => dispatchRound({ pool: worker, queues: queueLog() }, { window: users, slice: users });
  const claimAtRate = () => claimDue(worker, users, { handOverMs: 60_000, perImportRate: 100 });
  return {
    'a look for work': { pool: 'worker', run: () => findWork(worker) },
    'a round of the dispatcher': { pool: 'worker', run: dispatch },
    'claiming, sending and recording mails': { pool: 'worker', run: sendMails },
    'claiming mails at a rate': { pool: 'worker', run: claimAtRate },
    'claiming webhooks': { pool: 'worker', run: () => claimWebhooks(worker, { limit: users, holdMs: 60_000 }) },
    'a batch of an undo': { pool: 'worker', plant: plantUndo, run: () => undoRound(worker, users) },
  };
}

function reads({ api }: Grown['pools'], { users }: Size): Record<string, Step> {
  const list = (within?: string[]) => () => listImports(api, { within, pageSize: 5, before: undefined });
  async function status(): Promise<void> {
    const found = await readWithMore(api, '1');
    assert.ok(found && (await readResult(api, found)));
  }
  async function page(): Promise<void> {
    const progress = await readProgress(api, '1');
    assert.ok(progress && (await readItems(api, progress, { pageSize: users, from: 0 })));
  }
  return {
    'authenticating a token': { pool: 'api', run: () => callerOfToken(api, TOKEN) },
    'a login': { pool: 'api', run: () => findLogin(api, { loginName: 's1-1' }) },
    'a status': { pool: 'api', run: status },
    'a page of users': { pool: 'api', run: page },
    'the metrics of open imports': { pool: 'api', run: () => api.query(OPEN_IMPORTS) },
    'the age of the outbox': { pool: 'api', run: () => api.query(OUTBOX_AGE) },
    'the list of imports': { pool: 'api', run: list() },
    "the list of an organization's imports": { pool: 'api', run: list(['org']) },
  };
}

/**
 * Gives up what was encrypted with a key that nobody has any more, so that the service can start without it. For
 * `muster keys lost`, which runs beside the database while the service is stopped.
 *
 * Guarantee: nobody gets in because a key was lost. A second factor stays required, with a secret that nobody knows,
 * unless the operator names its user; users who were to be written with lost secrets fail; the requests to a password
 * source carry a secret that is wrong, and identity providers that had a secret are switched off. Values that a given key decrypts stay as they are.
 * On crash: run it again; it continues with the values that are left. The service starts only after the last of them.
 */
import {
  countPending,
  giveUpItems,
  giveUpPrepared,
  isBeingPrepared,
  pepperedItems,
  withoutColumns,
} from '../imports/upkeep/lost-items.ts';
import { newWebhookSecret } from '../messages/webhooks/signature.ts';
import { IS_PEPPERED, PEPPER_OF } from '../passwords/pepper.ts';
import { appendEvent, SYSTEM } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import type { Named } from '../platform/db/rows.ts';
import type { Idps, Imports, PasswordSources, UserTotp } from '../platform/db/tables.ts';
import type { Secrets } from '../platform/encryption.ts';
import { StartError } from '../platform/errors.ts';
import { loseRecoveryCodes } from '../signin/factors/recovery.ts';
import { dropTotp, loseTotp, ownerOf } from '../signin/factors/totp.ts';
import { sealSecrets, sourceEvent } from '../signin/password-sources/store.ts';
import { findIdp, idpEvent } from '../signin/providers/store.ts';
import { type RowKey, SEALED_TABLES, type SealedTable, unreadable } from './key-rotation.ts';
import { missingKeyIds } from './known-keys.ts';

type LostIdp = Named<Idps, { id: 'id'; orgId: 'org_id'; name: 'name' }>;
type LostSource = Named<PasswordSources, { id: 'id'; orgId: 'org_id'; name: 'name' }>;

/** What cannot be decrypted, by what it is. */
export interface Loss {
  /** Keys that the database names and that were not given. */
  keyIds: string[];
  /** Users with an active second factor; `administrators` are those of them who are IAM_OWNER. */
  secondFactors: string[];
  administrators: string[];
  /** Users who have begun to set up a second factor. */
  enrolments: string[];
  /** Users whose recovery codes nobody can check any more. */
  recoveryCodes: string[];
  signingKeys: string[];
  passwordSources: LostSource[];
  identityProviders: LostIdp[];
  /** Browsers that were on their way to a provider: their users begin again. */
  roundTrips: string[];
  /** Organizations whose webhooks are signed. */
  webhookSecrets: string[];
  /** Imports, with the users whose password cannot be verified without the pepper. */
  peppers: { importId: string; users: number }[];
  /** Imports: `pending` users were still to be written, the data of `failed` ones was kept for a correction. */
  imports: { importId: string; pending: number; failed: number }[];
  drafts: string[];
  /** Values in all. */
  values: number;
  /** Codes that were sent and can no longer be used. */
  codes: number;
}

type Secret = Pick<Secrets, 'keyIds' | 'seal' | 'unseal'>;

/** Lists what cannot be decrypted. Changes nothing. */
export async function findLoss(db: Db, secrets: Secret): Promise<Loss> {
  const loss: Loss = {
    keyIds: await missingKeyIds(db, secrets),
    secondFactors: [],
    administrators: [],
    enrolments: [],
    recoveryCodes: [],
    signingKeys: [],
    passwordSources: [],
    identityProviders: [],
    roundTrips: [],
    webhookSecrets: [],
    peppers: [],
    imports: [],
    drafts: [],
    values: 0,
    codes: 0,
  };
  for (const table of SEALED_TABLES) {
    for await (const keys of unreadable(db, secrets, table)) {
      loss.values += keys.length;
      await handlerOf(table).list(db, keys, loss);
    }
  }
  if (hasLoss(loss)) loss.codes = await countCodes(db);
  return loss;
}

/** Whether there is anything to give up. */
export function hasLoss({ keyIds, values }: Loss): boolean {
  return keyIds.length > 0 || values > 0;
}

/**
 * Gives up what `findLoss` lists.
 * @param removeFactors users whose second factor is removed, so that the password alone is enough; `all`: everybody
 * @throws StartError while processes of the service are connected
 */
export async function giveUp(
  pool: Pool,
  secrets: Secret,
  { removeFactors }: { removeFactors: readonly string[] },
): Promise<Loss> {
  const loss = await findLoss(pool, secrets);
  const unknown = removeFactors.filter((id) => id !== 'all' && !loss.secondFactors.includes(id));
  if (unknown.length > 0) throw new StartError(`The second factor of ${unknown.join(', ')} is not lost.`);
  if (!hasLoss(loss)) return loss;
  if (loss.values > 0) await requireStopped(pool);
  const doing = { secrets, removeFactors };
  for (const table of SEALED_TABLES) {
    for await (const keys of unreadable(pool, secrets, table)) await handlerOf(table).giveUp(pool, keys, doing);
  }
  await transaction(pool, async (db) => {
    await db.query('delete from encryption_keys where id <> all($1::text[])', [secrets.keyIds]);
    const { keyIds, codes, values, ...lists } = loss;
    const counts = Object.entries(lists).map(([name, list]) => [name, list.length]);
    await appendEvent(db, {
      aggregateType: 'instance',
      aggregateId: 'instance',
      resourceOwner: 'instance',
      type: 'instance.encryption_key.lost',
      editor: SYSTEM,
      payload: { keyIds, values, ...Object.fromEntries(counts), factorsRemoved: removedOf(loss, removeFactors) },
    });
  });
  return loss;
}

function removedOf({ secondFactors }: Loss, removeFactors: readonly string[]): number {
  return removeFactors.includes('all') ? secondFactors.length : new Set(removeFactors).size;
}

/** A process that runs would go on to use the key, and then it is not lost. */
async function requireStopped(db: Db): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()
       and application_name like 'muster%' and application_name not in ('muster start', 'muster keys')
     order by name`,
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => name).join(', ');
  throw new StartError(
    `Processes of the service are connected to the database: ${names}. If one of them still has the key, it is not lost: ` +
      'on Linux, /proc/PID/environ has the settings of the process PID. Otherwise stop all of them first; a pooler such as ' +
      'PgBouncer keeps connections of processes that are gone: restart it.',
  );
}

async function countCodes(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'select count(*)::int as n from codes where used_at is null and expires_at > now()',
  );
  return rows[0]?.n ?? 0;
}

interface Doing {
  secrets: Secret;
  removeFactors: readonly string[];
}

interface Handler {
  /** Adds these rows to the list. */
  list(db: Db, keys: RowKey[], loss: Loss): Promise<void>;
  giveUp(pool: Pool, keys: RowKey[], doing: Doing): Promise<void>;
}

function handlerOf({ name }: SealedTable): Handler {
  const handler = HANDLERS[name];
  if (!handler) throw new Error(`nothing gives up ${name}`);
  return handler;
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  import_items: {
    async list(db, keys, loss) {
      for (const [importId, ordinals] of byImport(keys)) {
        if (await isBeingPrepared(db, importId)) {
          addOnce(loss.drafts, importId);
          continue;
        }
        const known = loss.imports.find((each) => each.importId === importId);
        const entry = known ?? { importId, pending: 0, failed: 0 };
        // An item whose other secrets are lost too is listed with these.
        const isInside = keys[0]?.length === 3;
        const alone = isInside ? await withoutColumns(db, importId, ordinals) : ordinals;
        const pending = await countPending(db, importId, alone);
        entry.pending += pending;
        entry.failed += alone.length - pending;
        if (!known) loss.imports.push(entry);
      }
    },
    async giveUp(pool, keys) {
      for (const [importId, ordinals] of byImport(keys)) {
        await transaction(pool, async (db) => {
          if (await isBeingPrepared(db, importId)) await giveUpPrepared(db, importId);
          else await giveUpItems(db, importId, ordinals);
        });
      }
    },
  },
  import_files: {
    async list(_db, keys, { drafts }) {
      for (const [importId] of byImport(keys)) addOnce(drafts, importId);
    },
    async giveUp(pool, keys) {
      for (const [importId] of byImport(keys)) await transaction(pool, (db) => giveUpPrepared(db, importId));
    },
  },
  import_peppers: { list: listPeppers, giveUp: eachRow(giveUpPepper) },
  user_totp: { list: listFactors, giveUp: eachKey(giveUpFactor) },
  user_factors: {
    list: async (_db, keys, { recoveryCodes }) => void recoveryCodes.push(...firsts(keys)),
    giveUp: eachRow(giveUpRecovery),
  },
  signing_keys: {
    list: async (_db, keys, { signingKeys }) => void signingKeys.push(...firsts(keys)),
    giveUp: (pool, keys) => remove(pool, 'signing_keys', keys),
  },
  password_sources: { list: listSources, giveUp: eachRow(giveUpSource) },
  idps: { list: listLostIdps, giveUp: eachRow(giveUpIdp) },
  idp_round_trips: {
    list: async (_db, keys, { roundTrips }) => void roundTrips.push(...firsts(keys)),
    giveUp: (pool, keys) => remove(pool, 'idp_round_trips', keys),
  },
  organizations: {
    list: async (_db, keys, { webhookSecrets }) => void webhookSecrets.push(...firsts(keys)),
    giveUp: eachRow(giveUpWebhookSecret),
  },
};

function firsts(keys: RowKey[]): string[] {
  return keys.map(([id]) => id as string);
}

function addOnce(list: string[], value: string): void {
  if (!list.includes(value)) list.push(value);
}

/** The second columns of the keys, by import. */
function byImport(keys: RowKey[]): [importId: string, seconds: string[]][] {
  const groups = Map.groupBy(keys, ([importId]) => importId as string);
  return [...groups].map(([importId, rows]) => [importId, [...new Set(rows.map(([, second]) => second as string))]]);
}

/** Gives up one row a transaction, with its event. */
function eachRow(one: (db: Db, id: string, doing: Doing) => Promise<void>): Handler['giveUp'] {
  return eachKey(one);
}

/** As `eachRow`, where the key has a second column. */
function eachKey(one: (db: Db, id: string, doing: Doing, second: string) => Promise<void>): Handler['giveUp'] {
  return async (pool, keys, doing) => {
    for (const [id = '', second = ''] of keys) await transaction(pool, (db) => one(db, id, doing, second));
  };
}

async function remove(pool: Pool, table: 'signing_keys' | 'idp_round_trips', keys: RowKey[]): Promise<void> {
  await pool.query(`delete from ${table} where id = any($1::text[])`, [firsts(keys)]);
}

async function listPeppers(db: Db, keys: RowKey[], { peppers }: Loss): Promise<void> {
  const { rows } = await db.query<{ importId: Imports['id']; users: number }>(
    `select p.id as "importId", (select count(*)::int from users u where ${IS_PEPPERED} and ${PEPPER_OF} = p.id) as users
     from unnest($1::text[]) as p (id)`,
    [firsts(keys)],
  );
  peppers.push(...rows);
}

/** Users who were written keep their hash, which nothing verifies: they choose a new password. */
async function giveUpPepper(db: Db, importId: string): Promise<void> {
  if (await isBeingPrepared(db, importId)) await giveUpPrepared(db, importId);
  for (;;) {
    const ordinals = await pepperedItems(db, importId);
    if (ordinals.length === 0) break;
    await giveUpItems(db, importId, ordinals);
  }
  await db.query('delete from import_peppers where import_id = $1', [importId]);
}

async function listFactors(db: Db, keys: RowKey[], loss: Loss): Promise<void> {
  const { rows } = await db.query<Named<UserTotp, { id: 'user_id' }> & { active: boolean; owner: boolean }>(
    `select t.user_id as id, t.confirmed_at is not null as active,
       exists (select from instance_members m where m.user_id = t.user_id and 'IAM_OWNER' = any(m.roles)) as owner
     from unnest($1::text[], $2::text[]) as k (user_id, id)
       join user_totp t on t.user_id = k.user_id and t.id = k.id
     order by t.user_id, t.id`,
    [firsts(keys), keys.map(([, id]) => id)],
  );
  for (const { id, active, owner } of rows) {
    addOnce(active ? loss.secondFactors : loss.enrolments, id);
    if (active && owner) addOnce(loss.administrators, id);
  }
}

async function giveUpFactor(db: Db, userId: string, { secrets, removeFactors }: Doing, id: string): Promise<void> {
  const user = await ownerOf(db, userId);
  if (!user) return;
  if (removeFactors.includes('all') || removeFactors.includes(userId)) await dropTotp(db, user, SYSTEM, id);
  else await loseTotp({ db, secrets }, user, id);
}

async function giveUpRecovery(db: Db, userId: string): Promise<void> {
  const user = await ownerOf(db, userId);
  if (user) await loseRecoveryCodes(db, user);
}

async function listSources(db: Db, keys: RowKey[], { passwordSources }: Loss): Promise<void> {
  const { rows } = await db.query<LostSource>(
    'select id, org_id as "orgId", name from password_sources where id = any($1::text[]) order by id',
    [firsts(keys)],
  );
  passwordSources.push(...rows);
}

/** The secret that each kind stores; a directory that is searched without a password stores none. */
const SECRET_OF: Readonly<Record<string, string>> = {
  http: 'secret',
  ldap: 'bindPassword',
  'oauth-password': 'clientSecret',
  cognito: 'clientSecret',
};

/** A wrong secret, as a directory may take an empty password for an anonymous search. */
async function giveUpSource(db: Db, id: string, { secrets }: Doing): Promise<void> {
  const { rows } = await db.query<LostSource & Pick<PasswordSources, 'kind'>>(
    'select id, org_id as "orgId", name, kind from password_sources where id = $1 for no key update',
    [id],
  );
  const [source] = rows;
  if (!source) return;
  const field = SECRET_OF[source.kind] ?? 'secret';
  const { sequence, createdAt } = await sourceEvent(db, source, 'changed', SYSTEM, [field]);
  await db.query('update password_sources set secret_sealed = $2, sequence = $3, changed_at = $4 where id = $1', [
    id,
    sealSecrets(secrets, id, { [field]: newWebhookSecret() }),
    sequence,
    createdAt,
  ]);
}

async function listLostIdps(db: Db, keys: RowKey[], { identityProviders }: Loss): Promise<void> {
  const { rows } = await db.query<LostIdp>(
    'select id, org_id as "orgId", name from idps where id = any($1::text[]) order by id',
    [firsts(keys)],
  );
  identityProviders.push(...rows);
}

/** The provider is switched off until somebody sends its secret again. */
async function giveUpIdp(db: Db, id: string): Promise<void> {
  const idp = await findIdp(db, id, 'for update');
  if (!idp) return;
  const { sequence, createdAt } = await idpEvent(db, idp, 'changed', SYSTEM, ['isEnabled', 'secret']);
  await db.query(
    `update idps set secret_sealed = null, settings = settings || '{"isEnabled": false}', sequence = $2, changed_at = $3
     where id = $1`,
    [id, sequence, createdAt],
  );
}

async function giveUpWebhookSecret(db: Db, orgId: string): Promise<void> {
  const { sequence, createdAt } = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.webhook_secret.lost',
    editor: SYSTEM,
  });
  await db.query('update organizations set webhook_secret = null, sequence = $2, changed_at = $3 where id = $1', [
    orgId,
    sequence,
    createdAt,
  ]);
}

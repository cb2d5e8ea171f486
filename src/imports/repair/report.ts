/**
 * The report: all users of an import, as NDJSON, as CSV, or as a `dataOrgs` body to correct and send again, for which
 * it rebuilds the entries of failed and pending users.
 *
 * Guarantee: pages are read as fast as the client takes them, memory is bounded by one page plus its last entry, and
 * no transaction stays open. Each user of a running import appears once, in the state they have when their page is
 * read. A plain password is returned only as a hash, which also replaces it in the database; fields that the original
 * entry omitted stay omitted. On crash: the connection breaks, so the client can tell that the report is incomplete.
 */
import { errorIdOf, violationsOf } from '../../contract/causes.ts';
import type { ReportFormat } from '../../contract/import-options.ts';
import { storedState } from '../../contract/import-results.ts';
import type { ImportResult, ItemView } from '../../contract/import-types.ts';
import { sourceOf } from '../../passwords/marks.ts';
import { bareHash } from '../../passwords/pepper.ts';
import { hashedCodes, RECOVERY_PURPOSE } from '../../passwords/recovery-codes.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { Present } from '../../platform/db/rows.ts';
import type { ImportItems, Imports, Users } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { GENDERS } from '../../platform/fields.ts';
import { csvRecord } from '../../platform/text/lines.ts';
import { sentMetadata, sentPasskey } from '../entries/factors.ts';
import { oldSignInOf } from '../entries/facts.ts';
import type { PendingItem } from '../entries/item.ts';
import { omittedOf } from '../entries/notes.ts';
import { hashPassword, sealEntry, unsealEntry, WITHHELD, withholdSecrets } from '../entries/secrets.ts';
import { MAY_HOLD_DATA } from '../entries/states.ts';
import { type HashDeps, hashItem } from '../run/process-job.ts';
import { scanItems, toView } from '../status/items.ts';
import { openPredictions } from '../status/sign-ins.ts';

/** Entries of a page of `dataOrgs`. */
const PAYLOAD_ROWS = 200;
/** A page ends after this many bytes; a larger entry is a page of its own. */
const PAYLOAD_BYTES = 4 * 2 ** 20;
/** Items among which the first page of entries is looked for. */
const FIRST_STRETCH = 2000;

/** Items of a page of the report. */
const REPORT_ROWS = 500;

const HEADER = [
  'index',
  'orgId',
  'userId',
  'userName',
  'state',
  'kept',
  'code',
  'id',
  'message',
  'fields',
  'signInWay',
  'signInCause',
  'signInChanges',
];

/**
 * SQL over an item: at most how many bytes its entry takes. Measures only the columns that may be large, without
 * reading them; the other columns have limits. A value that PostgreSQL has compressed is at most 256 times as large.
 */
export const ENTRY_BYTES = `coalesce(octet_length(entry_sealed), 0)
      + coalesce(pg_column_size(extras)::bigint, 0) * case when pg_column_compression(extras) is null then 1 else 256 end`;

// Uses an array instead of a join, because the planner has no statistics yet for rows that were just copied in.
const PAYLOAD_PAGE = `
with sized as (
  select ordinal, sum(bytes) over (order by ordinal) - bytes as before from (
    select ordinal, ${ENTRY_BYTES} as bytes
    from import_items
    where import_id = $1 and ordinal >= $2 and ordinal < $3 and (user_name_key is not null or entry_sealed is not null)
      and ${MAY_HOLD_DATA} and ($4::item_state is null or state = $4)
    order by ordinal limit ${PAYLOAD_ROWS}) item
)
select * from import_items
where import_id = $1 and ordinal >= $2 and ordinal < $3 and ordinal = any (array(select ordinal from sized where before < ${PAYLOAD_BYTES})) order by ordinal`;

/** An item with a payload, valid or not; without one, the columns of the payload are null. */
export interface PayloadRow
  extends Pick<
      ImportItems,
      | 'ordinal'
      | 'org_index'
      | 'entry_sealed'
      | 'sign_in'
      | 'links'
      | 'email'
      | 'phone'
      | 'password_hash'
      | 'password_sealed'
      | 'totp_sealed'
    >,
    Present<
      Pick<
        ImportItems,
        | 'user_id'
        | 'user_name'
        | 'given_name'
        | 'family_name'
        | 'nick_name'
        | 'display_name'
        | 'preferred_language'
        | 'gender'
        | 'email_verified'
        | 'phone_verified'
        | 'password_change_required'
      >
    > {
  user_state: PendingItem['userState'];
  extras: PendingItem['extras'];
}

/**
 * The report as text.
 * @param state one of ITEM_STATES; absent: all items, or for `dataorgs` all that can be sent again
 */
export function reportText(
  deps: HashDeps,
  of: ImportResult,
  format: ReportFormat,
  state: string | undefined,
): AsyncIterable<string> {
  if (format === 'dataorgs') return dataOrgs(deps, of, state);
  return format === 'csv' ? csv(deps, of, state) : ndjson(deps, of, state);
}

async function* ndjson(deps: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<string> {
  for await (const item of items(deps, of, state)) yield `${JSON.stringify(item)}\n`;
}

async function* csv(deps: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<string> {
  const mayHaveNone = await allowsNone(deps.pool, of.importId);
  yield csvRecord([...HEADER, ...(mayHaveNone ? ['withoutEmail'] : [])]);
  for await (const item of items(deps, of, state)) {
    const { index, orgId, userId, userName, state: is, kept, error, signIn } = item;
    const fields = violationsOf(error);
    yield csvRecord([
      index,
      orgId,
      userId,
      userName,
      is,
      kept ?? '',
      error?.code ?? '',
      errorIdOf(error),
      error?.message ?? '',
      fields.map((f) => `${f.field}: ${f.description}`).join('; '),
      signIn?.way ?? '',
      signIn?.cause ?? '',
      signIn?.changes.join('; ') ?? '',
      ...(mayHaveNone ? [item.withoutEmail ? 'true' : ''] : []),
    ]);
  }
}

/** `withoutEmail`: the user has no email address, in an import that allows it. */
type ReportedItem = ItemView & { withoutEmail?: true };

async function* items({ pool }: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<ReportedItem> {
  const stored = storedState(of, state);
  if (stored === null) return;
  const predictions = await openPredictions(pool, of);
  const mayHaveNone = await allowsNone(pool, of.importId);
  for (let from = 0; ; ) {
    const rows = await scanItems(pool, of, REPORT_ROWS, { from, state: stored });
    const written = rows.filter(({ state }) => state === 'succeeded').map((row) => row.user_id);
    const none = mayHaveNone ? await withoutEmail(pool, written) : undefined;
    for (const row of rows) {
      const view = toView(row, of, predictions);
      yield none?.has(view.userId) ? { ...view, withoutEmail: true } : view;
    }
    if (rows.length < REPORT_ROWS) return;
    from = (rows.at(-1)?.ordinal ?? 0) + 1;
  }
}

/** Organizations appear in the order of their users. */
async function* dataOrgs(deps: HashDeps, of: ImportResult, state: string | undefined): AsyncIterable<string> {
  const stored = storedState(of, state);
  const { orgs } = await openPredictions(deps.pool, of);
  let org: number | undefined;
  yield '{"dataOrgs":{"orgs":[';
  const rows = stored === null ? [] : payloadRows(deps, { importId: of.importId, total: of.counts.total }, stored);
  for await (const row of rows) {
    const text = JSON.stringify(await entryOf(deps, of.importId, row));
    if (row.org_index === org) yield `,${text}`;
    else
      yield `${org === undefined ? '' : ']},'}{"orgId":${JSON.stringify(orgs.get(row.org_index))},"humanUsers":[${text}`;
    org = row.org_index;
  }
  yield `${org === undefined ? '' : ']}'}]},"timeout":${JSON.stringify(of.timeout)}}\n`;
}

type Part = Record<string, unknown>;

/**
 * The items of an import that can be sent again, in body order.
 * @param state of the items, as stored; absent: all that can be sent again
 */
async function* payloadRows(
  { pool }: Pick<HashDeps, 'pool'>,
  of: { importId: string; total: number },
  state: string | undefined,
): AsyncIterable<PayloadRow> {
  let from = 0;
  for (let stretch = FIRST_STRETCH; from < of.total; ) {
    const to = Math.min(from + stretch, of.total);
    const { rows } = await pool.query<PayloadRow>(PAYLOAD_PAGE, [of.importId, from, to, state ?? null]);
    yield* rows;
    const last = rows.at(-1);
    from = last ? last.ordinal + 1 : to;
    stretch = last ? FIRST_STRETCH : stretch * 2;
  }
}

/** The entry as it can be sent again. An invalid entry is returned as it was sent, except for secrets. */
export async function entryOf(deps: HashDeps, importId: string, row: PayloadRow): Promise<unknown> {
  if (row.entry_sealed !== null) return invalidEntry(deps, importId, row.ordinal, row.entry_sealed);
  const hash = row.password_sealed === null ? row.password_hash : await hashItem(deps, importId, row.ordinal);
  return entryFromColumns(row, hash, deps.secrets);
}

/**
 * The entry of an item that is stored column by column. The keys of authenticator apps are withheld; recovery codes are
 * returned as hashes.
 */
export function entryFromColumns(
  row: PayloadRow,
  hash: string | null,
  secrets: Pick<Secrets, 'unseal'>,
): { user: Part } {
  const user = { ...userOf(row, hash), ...factorsOf(row, secrets) };
  const oldSignIn = oldSignInOf(row.sign_in, (row.extras?.idps?.length ?? 0) > 0);
  const state = `USER_STATE_${row.user_state.toUpperCase()}`;
  const entry = { userId: row.user_id, state, ...(oldSignIn === undefined ? {} : { oldSignIn }), user };
  for (const part of [entry, user, user.profile, user.email, user.phone]) omit(part, omittedFields(row));
  return entry;
}

async function invalidEntry(deps: HashDeps, importId: string, ordinal: number, sealed: string): Promise<unknown> {
  const entry = unsealEntry(sealed, deps.secrets);
  // The entry itself says whether the user knows the password.
  if (await hashPassword(entry, (plain) => deps.hash(plain, (hash) => hash))) {
    await deps.pool.query(
      `update import_items set entry_sealed = $3 where import_id = $1 and ordinal = $2 and entry_sealed = $4`,
      [importId, ordinal, sealEntry(entry, deps.secrets), sealed],
    );
  }
  withholdSecrets(entry);
  return entry;
}

function userOf(row: PayloadRow, hash: string | null): Part {
  const { phone, extras } = row;
  const metadata = extras === null ? [] : sentMetadata(extras);
  const passwordSource = sourceOf(hash);
  return {
    userName: row.user_name,
    profile: {
      firstName: row.given_name,
      lastName: row.family_name,
      nickName: row.nick_name,
      displayName: row.display_name,
      preferredLanguage: row.preferred_language,
      gender: GENDERS[row.gender],
    },
    ...(row.email === null ? {} : { email: { email: row.email, isEmailVerified: row.email_verified } }),
    ...(phone === null ? {} : { phone: { phone, isPhoneVerified: row.phone_verified } }),
    ...(passwordSource === undefined ? {} : { passwordSource }),
    ...(hash === null || passwordSource !== undefined ? {} : { hashedPassword: { value: bareHash(hash) } }),
    passwordChangeRequired: row.password_change_required,
    ...(metadata.length > 0 ? { metadata } : {}),
    ...(extras?.idps?.length ? { idps: extras.idps } : {}),
  };
}

function factorsOf({ totp_sealed, extras }: PayloadRow, secrets: Pick<Secrets, 'unseal'>): Part {
  const { totpName = '', totps = [], recovery, passkeys, otp = [], wantsPasskey } = extras ?? {};
  const names = [totpName, ...totps.map(({ name }) => name)];
  const hasList = totpName !== '' || totps.length > 0;
  return {
    ...(totp_sealed === null || hasList ? {} : { otpCode: WITHHELD }),
    ...(hasList ? { totps: names.map((name) => ({ secret: WITHHELD, ...(name === '' ? {} : { name }) })) } : {}),
    ...(recovery === undefined
      ? {}
      : { recoveryCodes: hashedCodes(secrets.unseal(recovery.sealed, RECOVERY_PURPOSE)) }),
    ...(passkeys === undefined ? {} : { passkeys: passkeys.map(sentPasskey) }),
    ...(otp.includes('email') ? { otpEmail: true } : {}),
    ...(otp.includes('sms') ? { otpSms: true } : {}),
    ...(wantsPasskey ? { requestPasswordlessRegistration: true } : {}),
  };
}

/** The fields that the entry omitted, if known; otherwise those that hold their default. */
function omittedFields(row: PayloadRow): readonly string[] {
  if (row.extras?.unsaid) return omittedOf(row.extras.unsaid);
  const hasDefault = {
    state: row.user_state === 'active',
    nickName: row.nick_name === '',
    preferredLanguage: row.preferred_language === '',
    gender: row.gender === 0,
    passwordChangeRequired: !row.password_change_required,
  };
  return Object.entries(hasDefault).flatMap(([field, isDefault]) => (isDefault ? [field] : []));
}

function omit(part: unknown, fields: readonly string[]): void {
  if (typeof part !== 'object' || part === null) return;
  for (const field of fields) delete (part as Part)[field];
}

/** Whether the import allows users without an email address. */
async function allowsNone(pool: Pool, importId: string): Promise<boolean> {
  const { rows } = await pool.query<Pick<Imports, 'without_email'>>('select without_email from imports where id = $1', [
    importId,
  ]);
  return rows[0]?.without_email ?? false;
}

/** The users among these who exist and have no address. */
export async function withoutEmail(pool: Pool, userIds: readonly (string | null)[]): Promise<Set<string>> {
  const { rows } = await pool.query<Pick<Users, 'id'>>(
    "select id from users where id = any($1::text[]) and kind = 'human' and email is null",
    [userIds],
  );
  return new Set(rows.map(({ id }) => id));
}

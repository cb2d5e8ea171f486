/**
 * Everything that is stored about a person, as JSON: what the person downloads, and what answers a request for access
 * (GDPR article 15).
 *
 * Guarantee: no secret is in it: no password, code, token, key or hash of one; and nothing about other people: where
 * somebody else changed the account, who and when, but not from where. It is read in pages, as fast as the client takes
 * it, so memory does not grow with it. `test/signin/account/stored-data.test.ts` compares it with the tables that name
 * users.
 *
 * On crash: the connection breaks, so the client can tell that it is incomplete.
 */
import { type AuditRow, auditView, type Position, readEvents } from '../../directory/audit.ts';
import { linksOf } from '../../directory/idp-links.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { userView } from '../../directory/users/read.ts';
import { loginNames, type User } from '../../directory/users/store.ts';
import type { Db } from '../../platform/db/pool.ts';

/** The tables of whose rows all columns but secrets are shown: SQL of one object for each row, of the user $1. */
const LISTS: Readonly<Record<string, string>> = {
  instanceRoles: `select jsonb_build_object('roles', roles, 'since', created_at) from instance_members where user_id = $1`,
  organizationRoles: `select jsonb_build_object('organizationId', org_id, 'roles', roles, 'since', created_at)
    from org_members where user_id = $1 order by org_id`,
  authenticatorApps: `select jsonb_build_object('id', id, 'name', name, 'addedAt', created_at, 'confirmedAt', confirmed_at,
      'lastUsedAt', last_used_at) from user_totp where user_id = $1 order by created_at`,
  otherFactors: `select jsonb_build_object('codesByEmail', otp_email, 'codesByTextMessage', otp_sms, 'lostAt', lost_at,
      'recoveryCodesLeft', recovery_left, 'recoveryCodesMadeAt', recovery_made_at) from user_factors where user_id = $1`,
  passkeys: `select jsonb_build_object('credentialId', encode(credential_id, 'base64'), 'name', name, 'host', rp_id,
      'transports', transports, 'backedUp', backed_up, 'signsInAlone', passwordless, 'timesUsed', sign_count,
      'addedAt', created_at, 'lastUsedAt', last_used_at) from user_passkeys where user_id = $1 order by created_at`,
  sessions: `select jsonb_build_object('openedAt', created_at, 'address', address, 'openedBy', opened_by)
    from sessions where user_id = $1 order by created_at`,
  browsers: `select jsonb_build_object('address', address, 'userAgent', user_agent, 'lastUsedAt', used_at,
      'expiresAt', expires_at) from oauth_models where user_id = $1 and kind = 'Session' order by expires_at`,
  applications: `select jsonb_build_object('clientId', m.client_id, 'name', c.name, 'scope', m.scope, 'address', m.address,
      'userAgent', m.user_agent, 'lastUsedAt', m.used_at, 'expiresAt', m.expires_at)
    from oauth_models m left join oauth_clients c on c.id = m.client_id
    where m.user_id = $1 and m.kind = 'Grant' order by m.expires_at`,
  personalAccessTokens: `select jsonb_build_object('id', id, 'addedAt', created_at, 'expiresAt', expires_at)
    from personal_access_tokens where user_id = $1 order by created_at`,
  networks: `select jsonb_build_object('network', network, 'lastSignInAt', last_login_at)
    from login_networks where user_id = $1 order by last_login_at`,
  codes: `select jsonb_build_object('purpose', purpose, 'address', address, 'expiresAt', expires_at, 'endedAt', used_at)
    from codes where user_id = $1 order by expires_at`,
  messages: `select jsonb_build_object('kind', kind, 'address', address, 'state', state, 'createdAt', created_at,
      'settledAt', settled_at, 'problem', last_error) from mail_outbox where user_id = $1 order by id`,
  messagesOfTheDay: `select jsonb_build_object('askedBy', requester, 'messages', mails, 'since', since)
    from mail_counts where user_id = $1`,
  imports: `select jsonb_build_object('importId', i.id::text, 'source', i.source, 'startedAt', i.created_at,
      'firstSignInAt', f.at, 'firstSignInBy', f.way)
    from users u left join first_sign_ins f on f.user_id = u.id
      join imports i on i.id in (u.import_id, f.import_id) where u.id = $1 order by i.id`,
};

/** What of the row of the user is in no other part. */
const ACCOUNT = `select jsonb_build_object('id', id, 'state', state, 'createdAt', created_at, 'changedAt', changed_at,
    'lastSignInAt', last_login_at, 'hasPassword', password_hash is not null, 'passwordChangedAt', password_changed_at,
    'passwordChangeRequired', password_change_required, 'claimedAt', claimed_at, 'namedAt', named_at,
    'addressedAt', addressed_at) as value from users where id = $1`;

/** The JSON in pieces. */
export async function* storedDataOf(db: Db, user: User): AsyncIterable<string> {
  const org = await requireOrg(db, user.orgId);
  const { rows } = await db.query<{ value: unknown }>(ACCOUNT, [user.id]);
  yield `{\n"exportedAt": ${JSON.stringify(new Date())}`;
  yield part('account', rows[0]?.value);
  yield part('organization', { id: org.id, name: org.name });
  yield part('user', { ...userView(user), loginNames: loginNames(user) });
  yield part('links', await linksOf(db, user.id));
  for (const [name, text] of Object.entries(LISTS)) yield part(name, await list(db, text, user.id));
  yield* listPart('metadata', metadata(db, user.id));
  yield* listPart('events', events(db, user));
  yield '\n}\n';
}

function part(name: string, value: unknown): string {
  return `,\n${JSON.stringify(name)}: ${JSON.stringify(value ?? null, null, 1)}`;
}

async function* listPart(name: string, values: AsyncIterable<unknown>): AsyncIterable<string> {
  yield `,\n${JSON.stringify(name)}: [`;
  let separator = '\n';
  for await (const value of values) {
    yield separator + JSON.stringify(value);
    separator = ',\n';
  }
  yield ']';
}

async function list(db: Db, text: string, userId: string): Promise<unknown[]> {
  const { rows } = await db.query<{ jsonb_build_object: unknown }>(text, [userId]);
  return rows.map((row) => row.jsonb_build_object);
}

/** A value may have half a megabyte. */
const METADATA_PAGE = 20;

async function* metadata(db: Db, userId: string): AsyncIterable<unknown> {
  for (let after = ''; ; ) {
    const { rows } = await db.query<{ key: string; value: Buffer }>(
      `select key, value from metadata where user_id = $1 and key > $2 order by key limit ${METADATA_PAGE}`,
      [userId, after],
    );
    for (const { key, value } of rows) yield { key, value: value.toString('base64'), text: textOf(value) };
    if (rows.length < METADATA_PAGE) return;
    after = rows.at(-1)?.key ?? after;
  }
}

/** For people, who cannot read base64; undefined for what is no text. */
function textOf(value: Buffer): string | undefined {
  const text = value.toString('utf8');
  return Buffer.from(text, 'utf8').equals(value) ? text : undefined;
}

const EVENTS_PAGE = 500;

/** The audit events about the person until now. */
async function* events(db: Db, { id, orgId }: User): AsyncIterable<unknown> {
  const filter = { userId: id, asc: true, to: new Date() };
  for (let after: Position | undefined; ; ) {
    const rows = await readEvents(db, filter, { orgIds: [orgId], limit: EVENTS_PAGE, after });
    for (const row of rows) yield ofOthersHidden(row, id);
    if (rows.length < EVENTS_PAGE) return;
    after = rows.at(-1);
  }
}

/** Where an administrator was is not about the person. */
function ofOthersHidden(row: AuditRow, userId: string): object {
  const isOther = row.actorKind !== 'anonymous' && row.actorId !== userId;
  return auditView(isOther ? { ...row, address: null, userAgent: null, requestId: null } : row);
}

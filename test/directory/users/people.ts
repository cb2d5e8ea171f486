/** Humans in the initial states of verification, and the codes of their mails. */
import { randomBytes } from 'node:crypto';
import type { MailKind } from '../../../src/contract/link-templates.ts';
import { API_SCOPE } from '../../../src/contract/own-clients.ts';
import { enqueueMail } from '../../../src/messages/mail/outbox.ts';
import { randomToken } from '../../../src/platform/ids.ts';
import { modelKey } from '../../../src/signin/oauth/tokens.ts';
import type { TestApi } from '../../support/api.ts';

const HOUR = 3_600_000;

/** Adds a human whose address is not verified: INITIAL without a password, else ACTIVE. */
export async function addHuman(api: TestApi, orgId: string, password?: string): Promise<string> {
  const id = `auth0|${randomBytes(6).toString('hex')}`;
  const hash = password === undefined ? null : await api.deps.hasher.hash(password);
  await api.deps.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, given_name, family_name, display_name,
                        email, email_key, password_hash, sequence)
     values ($1, $2, 'human', $3, $1, $1, 'Ann', 'Example', 'Ann Example', 'ann@example.com', 'ann@example.com', $4, 1)`,
    [id, orgId, hash ? 'active' : 'initial', hash],
  );
  return id;
}

/** As `addHuman`, with a verified address. */
export async function addVerified(api: TestApi, orgId: string, password?: string): Promise<string> {
  const userId = await addHuman(api, orgId, password);
  await api.deps.pool.query('update users set email_verified = true where id = $1', [userId]);
  return userId;
}

/** Lets the links in emails of the organization lead to this origin. */
export async function allowUrl(api: TestApi, orgId: string, origin: string): Promise<void> {
  const answer = await api.call('PUT', '/management/v1/orgs/me/allowed_urls', { allowedUrls: [origin] }, { orgId });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

export interface MailedCode {
  /** The code as in the mail. */
  code: string;
  codeId: string;
}

/** The code of a mail to the user. */
export async function mailCode(api: TestApi, userId: string, kind: MailKind): Promise<MailedCode> {
  const { codeId } = await enqueueMail(api.deps.pool, { kind, userId, codeTtlMs: HOUR });
  return { codeId, code: api.deps.secrets.code(codeId, 0) };
}

/**
 * The human's own access token, as after a sign-in on the login page.
 * @param signedInAgoS seconds since the sign-in
 */
export async function tokenOf(api: TestApi, userId: string, signedInAgoS = 0): Promise<string> {
  const token = randomToken();
  const extra = { auth_time: Math.floor(Date.now() / 1000) - signedInAgoS };
  await api.deps.pool.query(
    `insert into oauth_models (id_hash, kind, user_id, scope, payload, expires_at)
     values ($1, 'AccessToken', $2, $3, $4, now() + interval '1 hour')`,
    [modelKey('AccessToken', token), userId, API_SCOPE, JSON.stringify({ extra })],
  );
  return token;
}

export interface HumanRow {
  state: string;
  email_verified: boolean;
  password_change_required: boolean;
  password_hash: string | null;
  sequence: string;
}

export async function humanRow(api: TestApi, userId: string): Promise<HumanRow> {
  const { rows } = await api.deps.pool.query<HumanRow>(
    'select state, email_verified, password_change_required, password_hash, sequence from users where id = $1',
    [userId],
  );
  return rows[0] as HumanRow;
}

/** Types of the user's events, oldest first. */
export async function eventsOf(api: TestApi, userId: string): Promise<string[]> {
  const { rows } = await api.deps.pool.query<{ type: string }>(
    'select type from events where aggregate_id = $1 order by sequence',
    [userId],
  );
  return rows.map((r) => r.type);
}

export interface Contact {
  email: string;
  emailVerified: boolean;
  phone: string | null;
  phoneVerified: boolean;
}

export async function contactOf(api: TestApi, userId: string): Promise<Contact> {
  const { rows } = await api.deps.pool.query<Contact>(
    `select email, email_verified as "emailVerified", phone, phone_verified as "phoneVerified"
     from users where id = $1`,
    [userId],
  );
  return rows[0] as Contact;
}

/** The newest mail or text message to the user, sent or not, with the code it carries. */
export async function lastMail(
  api: TestApi,
  userId: string,
): Promise<{ kind: MailKind; urlTemplate: string | null; code: string; codeId: string }> {
  const { rows } = await api.deps.pool.query(
    `select kind, url_template as "urlTemplate", code_id as "codeId" from mail_outbox
     where user_id = $1 order by id desc limit 1`,
    [userId],
  );
  if (!rows[0]) throw new Error('The user has no mail.');
  return { ...rows[0], code: api.deps.secrets.code(rows[0].codeId, 0) };
}

/** Kinds of the mails that are still unsent, oldest first. */
export async function unsentMails(api: TestApi, userId: string): Promise<string[]> {
  const { rows } = await api.deps.pool.query<{ kind: string }>(
    `select kind from mail_outbox where user_id = $1 and state = 'pending' order by id`,
    [userId],
  );
  return rows.map((row) => row.kind);
}

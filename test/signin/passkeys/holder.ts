/** Passkeys that users hold here, as an import stores them, and sign-ins with them over plain HTTP. */
import assert from 'node:assert/strict';
import type { TestApi } from '../../support/api.ts';
import { type AnswerOptions, type Passkey, type PasskeyOptions, passkey } from '../../support/passkeys.ts';
import { addClient, hiddenOf, type Shown, type Visitor, visitor } from '../pages/visitor.ts';

export const ORIGIN = 'https://auth.example.com';
export const RP_ID = 'auth.example.com';

/** Stores the public record of a passkey. */
export async function storePasskey(
  api: TestApi,
  userId: string,
  key: Passkey,
  { passwordless = true, rpId = key.record().rpId } = {},
): Promise<void> {
  const { credentialId, publicKey, signCount, userHandle, transports, backedUp } = key.record();
  const bytes = (text: string) => Buffer.from(text, 'base64url');
  await api.deps.pool.query(
    `insert into user_passkeys (credential_id, user_id, public_key, sign_count, rp_id, user_handle, transports, backed_up,
       passwordless) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...[bytes(credentialId), userId, bytes(publicKey), signCount, rpId],
      ...[userHandle === undefined ? null : bytes(userHandle), transports, backedUp, passwordless],
    ],
  );
}

let made = 0;

/** A passkey of the user, whose handle is the user's id. */
export async function holdPasskey(api: TestApi, userId: string, options: PasskeyOptions = {}): Promise<Passkey> {
  const key = passkey(`${userId} ${++made}`, { rpId: RP_ID, userHandle: userId, ...options });
  await storePasskey(api, userId, key);
  return key;
}

/** A sign-in page in one browser. */
export interface PasskeyPage {
  by: Visitor;
  path: string;
  page: Shown;
  challenge: string;
  options: Record<string, unknown>;
  /** Sends an answer. */
  send(answer: unknown): Promise<Shown>;
  /** Sends the answer of this passkey. */
  use(key: Passkey, answer?: Partial<AnswerOptions>): Promise<Shown>;
}

export async function openPage(api: TestApi, more: Record<string, string> = {}): Promise<PasskeyPage> {
  clients.set(api, clients.get(api) ?? addClient(api));
  const by = visitor(api);
  const path = await by.begin(await (clients.get(api) as Promise<string>), more);
  const page = await by.get(path);
  const options = optionsOf(page);
  const challenge = String(options.challenge);
  const fields = hiddenOf(page, 'passkey');
  const send = (answer: unknown) => by.post(path, { ...fields, answer: JSON.stringify(answer) });
  const use: PasskeyPage['use'] = (key, answer = {}) =>
    send(key.assertion({ challenge }, { origin: ORIGIN, ...answer }));
  return { by, path, page, challenge, options, send, use };
}

const clients = new Map<TestApi, Promise<string>>();

/** What a page asks authenticators. */
export function optionsOf({ text }: Shown): Record<string, unknown> {
  const [, data = '{}'] = /data-passkey="([^"]*)"/.exec(text) ?? [];
  return JSON.parse(data.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&'));
}

/** Whether the sign-in has reached the application. */
export async function reached({ by }: PasskeyPage, sent: Shown): Promise<boolean> {
  if (sent.status !== 303) return false;
  const back = await by.get(new URL(sent.headers.get('location') ?? '').pathname);
  return /[?&]code=/.test(back.headers.get('location') ?? '');
}

export async function audited(api: TestApi, userId: string, type: string): Promise<Record<string, unknown>[]> {
  const text = 'select payload from audit_events where user_id = $1 and type = $2 order by sequence';
  const { rows } = await api.deps.pool.query(text, [userId, type]);
  return rows.map(({ payload }) => payload);
}

/** The sign-in is refused on a page that offers all other ways. */
export function refused({ status, text }: Shown): void {
  assert.equal(status, 400);
  assert.match(text, /Your passkey was not accepted/);
  assert.match(text, /name="loginName"/);
}

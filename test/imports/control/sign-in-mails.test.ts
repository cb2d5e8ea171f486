/** The mail to the users of an import who have not signed in: who gets it, once, and with whose rights it is written. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sendSignInMails, signInMailsRound } from '../../../src/imports/control/sign-in-mails.ts';
import { batchStore } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { startMailer } from '../../../workers/mailer.ts';
import { errorId } from '../../support/answers.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { type Calls, must, openCalls, type TestOrg } from '../../support/calls.ts';
import { bulk, OLD_PASSWORD } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { type Entry, entry, openWriterPool } from '../../support/imports/imports.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { type SmtpCatcher, startSmtp, urlsIn } from '../../support/smtp.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
let calls: Calls;
let pool: Pool;
let writer: Pool;
let smtp: SmtpCatcher;
before(async () => {
  smtp = await startSmtp();
  api = await startApi({ env: { SMTP_URL: smtp.url, LOGIN_DELAY_MS: '0', RATE_LIMIT_MAILS: '0' } });
  calls = openCalls(() => api.url, api.token);
  pool = api.deps.pool;
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
after(async () => {
  await writer.end();
  await api.stop();
  await smtp.stop();
});

const NO_HASH = { hashedPassword: undefined };
const at = (importId: string, path: string) => `/admin/v1/imports/${importId}/${path}`;

/** An organization whose imports send no mails of their own to those who have a way in. */
async function newOrg(): Promise<TestOrg> {
  const org = await calls.newOrg();
  const policy = { mailCode: 'withoutPassword', initMail: 'unlessWayIn' };
  await must(calls.call('PUT', '/management/v1/policies/login', policy, { orgId: org.orgId }));
  return org;
}

async function imported({ orgId, ownerToken }: TestOrg, users: Entry[], query = ''): Promise<string> {
  const path = `/admin/v1/import?withoutEmail=true&enterpriseMailCodes=false${query}`;
  const { importId } = (await must(calls.call('POST', path, bulk(orgId, users), { token: ownerToken }))).body;
  await batchStore(writer, SETTINGS).write(importId, [...users.keys()]);
  return importId;
}

async function writeAll(): Promise<void> {
  while (await signInMailsRound(pool));
}

const preview = async (importId: string) => (await must(calls.call('GET', at(importId, 'sign_in_mails_preview')))).body;
const since = async (importId: string) => (await must(calls.call('GET', at(importId, 'sign_ins')))).body;
const send = (importId: string, body: object, token?: string) =>
  calls.call('POST', at(importId, '_send_sign_in_mails'), body, token === undefined ? {} : { token });

async function kinds(importId: string): Promise<Record<string, number>> {
  const { rows } = await pool.query(
    `select user_id, count(*)::int as n from mail_outbox where import_id = $1 and kind::text = 'how_to_sign_in' group by 1`,
    [importId],
  );
  return Object.fromEntries(rows.map(({ user_id, n }) => [user_id, n]));
}

async function signIn(org: TestOrg, userId: string): Promise<void> {
  const checks = { user: { userId }, password: { password: OLD_PASSWORD } };
  const answer = await calls.call('POST', '/v2beta/sessions', { checks }, { token: org.ownerToken });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
}

/** One user for each reason, and three who get the mail. */
function people(p: string): Entry[] {
  return [
    entry(`${p}-usual`),
    entry(`${p}-none`, NO_HASH),
    entry(`${p}-late`),
    entry(`${p}-in`),
    entry(`${p}-off`, {}, { state: 'USER_STATE_INACTIVE' }),
    entry(`${p}-bare`, { ...NO_HASH, email: undefined, userName: `${p}-bare` }),
    { ...entry(`${p}-work`, NO_HASH), oldSignIn: { ways: ['enterprise'] } } as Entry,
    entry(`${p}-waits`),
    entry(`${p}-refused`),
    entry(`${p}-gone`),
  ];
}

test('mails those who have not signed in, each once, and nobody who signs in before', async () => {
  const org = await newOrg();
  const importId = await imported(org, people('a'));
  await signIn(org, 'id-a-in');
  await must(calls.call('POST', '/v2beta/users/id-a-waits/password_reset', { sendLink: {} }));
  await pool.query(
    `insert into mail_outbox (kind, user_id, state, settled_at) values ('verify_email', 'id-a-refused', 'failed', now())`,
  );
  await must(calls.call('DELETE', '/v2beta/users/id-a-gone'));
  const found = await preview(importId);
  const one = ['SIGNED_IN', 'DELETED', 'INACTIVE', 'NO_ADDRESS', 'LEFT_OUT', 'MAIL_WAITS', 'MAIL_REFUSED'];
  const reasons = found.reasons.map(({ reason, users }: { reason: string; users: number }) => [reason, users]);
  assert.equal(found.users, 3);
  assert.deepEqual(Object.fromEntries(reasons), Object.fromEntries(one.map((reason) => [reason, 1])));

  const refused = await send(importId, { urlTemplate: 'https://elsewhere.example.net/' });
  assert.equal(errorId(refused), 'URL-TEMPLATE-NOT-ALLOWED');
  const allowed = { allowedUrls: ['https://app.example.com'] };
  await must(calls.call('PUT', '/management/v1/orgs/me/allowed_urls', allowed, { orgId: org.orgId }));
  const body = { urlTemplate: 'https://app.example.com/' };
  // Twice at once, and again while the mails are written and after.
  const both = await Promise.all([send(importId, body), send(importId, body)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  );
  await Promise.all([signInMailsRound(pool), signInMailsRound(pool)]);
  await writeAll();
  await must(send(importId, body));
  await writeAll();
  assert.deepEqual(await kinds(importId), { 'id-a-usual': 1, 'id-a-none': 1, 'id-a-late': 1 });
  assert.equal((await preview(importId)).users, 0);

  await signIn(org, 'id-a-late');
  const mailer = startMailer(api.deps);
  try {
    const isDone = async () =>
      (await pool.query(`select from mail_outbox where state = 'pending' limit 1`)).rowCount === 0;
    await waitFor(isDone, { what: 'the mails' });
    await waitFor(async () => (await since(importId)).mails.sent === 2, { what: 'the counts' });
  } finally {
    await mailer.stop();
  }
  const { mails } = await since(importId);
  assert.deepEqual({ ...mails, askedAt: '' }, { askedAt: '', state: 'WRITTEN', users: 3, sent: 2, failed: 0 });
  assert.match(mails.askedAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const result = (await must(calls.call('GET', `/admin/v1/imports/${importId}`))).body;
  assert.deepEqual(result.mails, { pending: 0, held: 0, sent: 2, failed: 0 });
  const sentTo = async (name: string) => {
    const [mail, ...more] = smtp.mails.filter(({ to }) => to.includes(`${name}@example.com`));
    assert.equal(more.length, 0);
    return mail && (await mail.parsed());
  };
  const mail = await sentTo('a-usual');
  assert.match(mail?.subject ?? '', /How to sign in$/);
  assert.match(mail?.text ?? '', /Sign in with the user name a-usual or this email address\./);
  assert.deepEqual(urlsIn(mail?.text ?? '').map(String), ['https://app.example.com/']);
  assert.match(mail?.html ?? '', /href="https:\/\/app\.example\.com\/"/);
  assert.equal(await sentTo('a-late'), undefined);
  const events = await pool.query(
    `select from events where aggregate_id = $1 and type = 'import.sign.in.mails.requested'`,
    [importId],
  );
  assert.equal(events.rowCount, 2, 'an ask while mails are written changes nothing');
});

test('is written with the rights of whoever asked, at that time', async () => {
  const org = await newOrg();
  const importId = await imported(org, [entry('r-1'), entry('r-2')]);
  await must(send(importId, {}, org.ownerToken));
  await pool.query(`delete from org_members where org_id = $1`, [org.orgId]);
  await writeAll();
  assert.deepEqual(await kinds(importId), {});
  assert.equal((await since(importId)).mails.state, 'STOPPED');
  assert.equal((await send(importId, {}, org.ownerToken)).status, 403);
  await must(send(importId, {}));
  await writeAll();
  assert.equal((await since(importId)).mails.users, 2);
});

test('stops when the import is undone', async () => {
  const org = await newOrg();
  const importId = await imported(org, [entry('u-1')]);
  await must(send(importId, {}));
  await must(calls.call('POST', at(importId, '_undo'), {}));
  await writeAll();
  assert.deepEqual(await kinds(importId), {});
  assert.equal((await since(importId)).mails.state, 'STOPPED');
  assert.equal(errorId(await send(importId, {})), 'IMPORT-STATE');
});

test('is refused where the import holds its mails, runs, or is a dry run', async () => {
  const org = await newOrg();
  const held = await imported(org, [entry('h-1')], '&mails=none');
  assert.equal(errorId(await send(held, {})), 'IMPORT-MAILS-HELD');
  await must(calls.call('POST', at(held, '_send_mails'), {}));
  await must(send(held, {}));
  const path = '/admin/v1/import';
  const running = (await must(calls.call('POST', path, bulk(org.orgId, [entry('h-2')])))).body.importId;
  assert.equal(errorId(await send(running, {})), 'IMPORT-STATE');
  const dry = (await must(calls.call('POST', `${path}?dryRun=true`, bulk(org.orgId, [entry('h-3')])))).body.importId;
  await pool.query(`update imports set state = 'succeeded' where id = $1`, [dry]);
  assert.equal(errorId(await send(dry, {})), 'IMPORT-DRY-RUN');
  assert.equal(errorId(await calls.call('GET', at(dry, 'sign_in_mails_preview'))), 'IMPORT-DRY-RUN');
  assert.equal(errorId(await send(held, { urlTemplate: 'nowhere' })), 'IMPORT-ACTION');
  await assert.rejects(
    sendSignInMails(pool, { userId: 'nobody', orgId: '', isIamOwner: false, orgRoles: new Map() }, held, undefined),
    { id: 'AUTH-PERMISSION' },
  );
});

test('muster says who would get it, asks, and sends', async () => {
  const org = await newOrg();
  const importId = await imported(org, [entry('c-1'), entry('c-2', {}, { state: 'USER_STATE_INACTIVE' })]);
  const env = { MUSTER_URL: api.url, MUSTER_TOKEN: org.ownerToken };
  const run = (...args: string[]) => runMuster(['sign-ins', importId, '--send-mail', ...args], { env });
  assert.match(
    (await run('--dry-run')).stdout,
    /A mail would go to 1 user who has not signed in \(not: 1 inactive\)\./,
  );
  await run();
  assert.deepEqual(await kinds(importId), {}, 'nobody has confirmed it');
  assert.match((await run('--yes')).stdout, /Mails to 1 user who has not signed in are being written/);
  await writeAll();
  assert.deepEqual(await kinds(importId), { 'id-c-1': 1 });
  assert.match(
    (await run('--yes')).stdout,
    /Nobody is left to mail \(not: 1 (inactive|mail waits), 1 (inactive|mail waits)\)/,
  );
  assert.match(
    (await runMuster(['sign-ins', importId], { env })).stdout,
    /Mails to those who have not: 1, sent 0, failed 0/,
  );
});

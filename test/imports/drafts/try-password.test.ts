/** Trying the password of one user of a draft, and the mails that the draft would send. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import bcrypt from 'bcryptjs';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { OLD_PASSWORD } from '../../support/imports/bodies.ts';
import { newDraft, uploadFile } from '../../support/imports/drafts.ts';
import { entry } from '../../support/imports/imports.ts';
import { runMuster } from '../../support/processes/muster.ts';

const PEPPER = 'of the old shop';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

async function draftOf(users: object[], headers: Record<string, string> = {}): Promise<string> {
  const lines = users.map((user) => `${JSON.stringify({ orgId, ...user })}\n`).join('');
  const sent = { headers: { 'content-type': 'application/x-ndjson', ...headers } };
  const answer = await api.call('POST', '/admin/v1/import?draft=true', lines, sent);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.importId;
}

async function tried(importId: string, loginName: string, password: string): Promise<string> {
  const answer = await api.call('POST', `/admin/v1/imports/${importId}/_try_password`, { loginName, password });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.result;
}

const other = { hashedPassword: undefined };

test('the password of an entry fits or does not, by the user name, the address in any case, or the id', async () => {
  const importId = await draftOf([
    entry('ann'),
    entry('bea', { ...other, password: 'a plain one' }),
    entry('cleo', other),
    entry('dora', { hashedPassword: { value: '$2e$10$abc' } }),
  ]);
  for (const name of ['ann', 'ANN', 'Ann@Example.com', 'id-ann']) {
    assert.equal(await tried(importId, name, OLD_PASSWORD), 'FITS', name);
    assert.equal(await tried(importId, name, `${OLD_PASSWORD} `), 'DOES_NOT_FIT', name);
  }
  assert.equal(await tried(importId, 'bea', 'a plain one'), 'FITS');
  assert.equal(await tried(importId, 'bea', 'a plain two'), 'DOES_NOT_FIT');
  assert.equal(await tried(importId, 'cleo', OLD_PASSWORD), 'NO_HASH');
  assert.equal(await tried(importId, 'dora', OLD_PASSWORD), 'INVALID_ENTRY');
  assert.equal(await tried(importId, 'nobody', OLD_PASSWORD), 'NO_USER');
});

test('a hash with a pepper is tried with the pepper', async () => {
  const value = bcrypt.hashSync(`correct horse${PEPPER}`, 4);
  const users = [entry('eve', { hashedPassword: { value } })];
  const importId = await draftOf(users, { 'password-pepper': Buffer.from(PEPPER).toString('base64') });
  assert.equal(await tried(importId, 'eve', 'correct horse'), 'FITS');
  assert.equal(await tried(importId, 'eve', `correct horse${PEPPER}`), 'DOES_NOT_FIT');
  const without = await draftOf(users);
  assert.equal(await tried(without, 'eve', 'correct horse'), 'DOES_NOT_FIT');
});

test('every reading of a digest is tried', async () => {
  const md5 = Buffer.from('5f4dcc3b5aa765d61d8327deb882cf99'); // of "password"
  const importId = await newDraft(api, { orgId });
  const value = bcrypt.hashSync(md5.toString(), 4);
  await uploadFile(api, importId, `id,email,first_name,last_name,hash\n1,fay@example.com,Fay,Form,${value}\n`);
  const body = { source: 'csv', orgId, hashFormat: 'bcrypt(md5(password))' };
  assert.equal((await api.call('POST', `/admin/v1/imports/${importId}/_convert`, body)).status, 200);
  assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
  assert.equal(await tried(importId, 'fay@example.com', 'password'), 'FITS');
  assert.equal(await tried(importId, 'fay@example.com', md5.toString()), 'DOES_NOT_FIT');
});

test('nothing is written: no event and no change of the draft, and the password is in no row', async () => {
  const importId = await draftOf([entry('gil')]);
  const state = async () => {
    const text = `select (select count(*)::int from events) as events, (select count(*)::int from audit_events) as audited,
      (select xmin::text from imports where id = $1) as import`;
    return (await api.deps.pool.query(text, [importId])).rows[0];
  };
  const before = await state();
  await tried(importId, 'gil', 'never written down');
  const { audited: _, ...left } = await state();
  const { audited: __, ...had } = before;
  assert.deepEqual(left, had);
  const { rows } = await api.deps.pool.query(
    `select count(*)::int as n from audit_events a where a::text like '%never written down%'`,
  );
  assert.equal(rows[0].n, 0);
});

test('the command reads the password from its input, and ends with 1 unless it fits', async () => {
  const importId = await draftOf([entry('hal')]);
  const env = { MUSTER_URL: api.url, MUSTER_TOKEN: api.token };
  const right = await runMuster(['try-password', importId, 'hal'], { env, input: `${OLD_PASSWORD}\n` });
  assert.deepEqual([right.code, right.stdout], [0, 'The password fits.\n'], right.stderr);
  const wrong = await runMuster(['try-password', importId, 'hal', '--json'], { env, input: 'wrong' });
  assert.deepEqual([wrong.code, JSON.parse(wrong.stdout)], [1, { result: 'DOES_NOT_FIT' }]);
  const none = await runMuster(['try-password', importId, 'hal'], { env });
  assert.equal(none.code, 2);
  assert.match(none.stderr, /The password is empty/);
});

test('the mails of a draft are shown as users get them, with the name of the organization', async () => {
  const importId = await draftOf([entry('ida', other)]);
  const { body } = await api.call('GET', `/admin/v1/imports/${importId}/mails_preview`);
  assert.deepEqual(
    [body.server, body.spf, body.language, body.domain],
    ['MAILBOX', undefined, 'en', api.deps.config.MAIL_FROM.replace(/^.*@|>$/g, '')],
  );
  const [verification, initialisation] = body.mails;
  const { rows } = await api.deps.pool.query('select name from organizations where id = $1', [orgId]);
  assert.equal(verification.subject, `${rows[0].name}: Confirm your email address`);
  assert.equal(initialisation.subject, `${rows[0].name}: Set up your account`);
  assert.match(initialisation.text, /code=K7XM4QRTWA2P\n/);
  assert.equal(verification.validForSeconds, api.deps.config.CODE_TTL_MS / 1000);
});

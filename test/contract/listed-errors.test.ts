/** Errors that operations list and that no story of a feature meets: each is asked for once. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { guesses, pieces } from '../../src/imports/drafts/create.ts';
import { tries } from '../../src/imports/drafts/try-password.ts';
import { fixes, previews } from '../../src/imports/visible.ts';
import type { Slots } from '../../src/platform/http/slots.ts';
import { type Answer, errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { createFile, newDraft, sendBytes, uploadFile } from '../support/imports/drafts.ts';

let api: TestApi;
/** The administrator whom `api.call` sends the token of. */
let admin: { userId: string; orgId: string };
before(async () => {
  api = await startApi();
  const { user, details } = (await api.call('GET', '/management/v1/me')).body;
  admin = { userId: user.userId, orgId: details.resourceOwner };
});
after(() => api.stop());

/** The error of a call. */
async function errorOf(method: string, path: string, body?: unknown): Promise<string> {
  const answer: Answer = await api.call(method, path, body);
  return `${answer.status} ${errorId(answer)}`;
}

/** An import that nobody runs, as there are no workers. Returns its path. */
async function waiting(query = ''): Promise<string> {
  const { orgId } = await api.setupOrg();
  const name = unique('user');
  const user = {
    userName: name,
    profile: { firstName: 'Ann', lastName: 'Archer' },
    email: { email: `${name}@example.com`, isEmailVerified: true },
  };
  const body = { dataOrgs: { orgs: [{ orgId, humanUsers: [{ user }] }] }, timeout: '1h0m0s' };
  const answer = await api.call('POST', `/admin/v1/import${query}`, body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return `/admin/v1/imports/${answer.body.importId}`;
}

const TRY = { loginName: 'ann', password: 'correct horse' };
const REMEDY = { cause: '5f2b8c01', remedy: 'leave-out' };

/** Takes all places of the caller while `run` runs. */
async function whileFull(slots: Slots, places: number, run: () => Promise<void>): Promise<void> {
  const taken = Array.from({ length: places }, () => slots.take(admin));
  try {
    await run();
  } finally {
    for (const end of taken) end();
  }
}

test('actions of an import refuse a query', async () => {
  const path = await waiting();
  for (const action of ['_cancel', '_pause', '_resume', '_retry', '_undo', '_send_mails', '_send_sign_in_mails'])
    assert.equal(await errorOf('POST', `${path}/${action}?dryRun=true`, {}), '400 IMPORT-QUERY', action);
});

test('actions of a draft refuse an import that has started', async () => {
  const path = await waiting();
  assert.equal(await errorOf('GET', `${path}/guess`), '400 IMPORT-STATE');
  assert.equal(await errorOf('GET', `${path}/mails_preview`), '400 IMPORT-STATE');
  assert.equal(await errorOf('GET', `${path}/earlier`), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_try_password`, TRY), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_try_password`, { loginName: 'ann' }), '400 DRAFT-TRY');
  assert.equal(await errorOf('POST', `${path}/_convert`, {}), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_check`, { timeout: '5m0s' }), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_start`, { timeout: '5m0s' }), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_discard`), '400 IMPORT-STATE');
  assert.equal(await errorOf('GET', `${path}/items/x`), '404 IMPORT-ITEM-NOT-FOUND');
});

test('a draft that was not checked shows neither items nor causes, and corrects nothing', async () => {
  const path = `/admin/v1/imports/${await newDraft(api)}`;
  assert.equal(await errorOf('GET', `${path}/items/0`), '400 IMPORT-STATE');
  assert.equal(await errorOf('GET', `${path}/causes`), '400 IMPORT-STATE');
  assert.equal(await errorOf('GET', `${path}/sign_in_mails_preview`), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_fix`, REMEDY), '400 IMPORT-STATE');
  assert.equal(await errorOf('POST', `${path}/_check`, { timeout: 'soon' }), '400 IMPORT-TIMEOUT');
});

test('a dry run has nothing to correct or to undo, and neither has an import whose data was erased', async () => {
  const dry = await waiting('?dryRun=true');
  assert.equal(await errorOf('POST', `${dry}/_fix`, REMEDY), '400 IMPORT-DRY-RUN');
  assert.equal(await errorOf('GET', `${dry}/undo_preview`), '400 IMPORT-DRY-RUN');
  const path = await waiting();
  await api.call('POST', `${path}/_cancel`, {});
  await api.deps.pool.query('update imports set erased_to = 0 where id = $1', [path.split('/').at(-1)]);
  assert.equal(await errorOf('POST', `${path}/_fix`, REMEDY), '400 IMPORT-ERASED');
  assert.equal(await errorOf('POST', `${path}/_resume`, {}), '400 IMPORT-ERASED');
  assert.equal(await errorOf('POST', `${path}/_retry`, {}), '400 IMPORT-ERASED');
});

test('files: unknown, without headers, of a draft that was discarded, and of an import that has started', async () => {
  const importId = await newDraft(api);
  const path = `/admin/v1/imports/${importId}`;
  const file = await uploadFile(api, importId, 'userName,email\nann,ann@example.com\n');
  const tus = { headers: { 'tus-resumable': '1.0.0' } };
  assert.equal((await api.call('HEAD', `${path}/files/none`, undefined, tus)).status, 404);
  assert.equal(await errorOf('PATCH', file, Buffer.from('x')), '400 UPLOAD-HEADERS');
  const old = { headers: { 'tus-resumable': '0.2.2' } };
  assert.equal(errorId(await api.call('PATCH', file, Buffer.from('x'), old)), 'UPLOAD-VERSION');
  assert.equal((await api.call('HEAD', file, undefined, old)).status, 412);
  const creation = { headers: { ...old.headers, 'upload-length': '1' } };
  assert.equal(errorId(await api.call('POST', `${path}/files`, undefined, creation)), 'UPLOAD-VERSION');
  assert.equal(await errorOf('GET', `${path}/sign_ins`), '400 IMPORT-STATE');
  await api.call('POST', `${path}/_discard`);
  assert.equal(await errorOf('DELETE', file), '400 IMPORT-STATE');
  const started = `${await waiting()}/files/none`;
  assert.equal((await api.call('HEAD', started, undefined, tus)).status, 400);
  assert.equal(errorId(await sendBytes(api, started, 0, Buffer.from('x'))), 'IMPORT-STATE');
  assert.equal(await errorOf('DELETE', started), '400 IMPORT-STATE');
});

test('each kind of work that takes long has few places for a caller', async () => {
  const path = await waiting();
  const importId = await newDraft(api);
  await whileFull(fixes, 2, async () =>
    assert.equal(await errorOf('POST', `${path}/_fix`, REMEDY), '429 IMPORT-FIXES'),
  );
  await whileFull(previews, 2, async () => {
    assert.equal(await errorOf('GET', `${path}/undo_preview`), '429 IMPORT-PREVIEWS');
    await api.call('POST', `${path}/_cancel`, {});
    assert.equal(await errorOf('GET', `${path}/sign_in_mails_preview`), '429 IMPORT-PREVIEWS');
  });
  await whileFull(guesses, 2, async () =>
    assert.equal(await errorOf('GET', `/admin/v1/imports/${importId}/guess`), '429 DRAFT-GUESSES'),
  );
  await whileFull(tries, 2, async () =>
    assert.equal(await errorOf('POST', `/admin/v1/imports/${importId}/_try_password`, TRY), '429 DRAFT-TRIES'),
  );
  await whileFull(pieces, 8, async () =>
    assert.equal(errorId(await createFile(api, importId, { size: 1 })), 'UPLOAD-REQUESTS'),
  );
});

test('a body in another format is named', async () => {
  assert.equal(
    await errorOf('POST', '/admin/v1/import', '\n<!DOCTYPE html><title>Sign in</title>'),
    '400 IMPORT-FORMAT',
  );
});

test('a machine user has no phone number to verify and no codes by mail, and the last IAM_OWNER is not erased', async () => {
  const { orgId } = await api.setupOrg();
  const { userId } = await api.machine(orgId);
  assert.equal(await errorOf('POST', `/v2beta/users/${userId}/phone/resend`, {}), '400 PHONE-NOT-HUMAN');
  assert.equal(await errorOf('PUT', `/v2beta/users/${userId}/mail_codes`, { allowed: false }), '400 USER-NOT-HUMAN');
  assert.equal(await errorOf('POST', `/v2beta/users/${admin.userId}/erase`, {}), '400 MEMBER-LAST-OWNER');
});

test('an organization has a limited number of password sources', async () => {
  const { orgId } = await api.setupOrg();
  const add = (n: number) => {
    const body = { name: `Shop ${n}`, kind: 'http', settings: { url: `https://shop.example/${n}` } };
    return api.call('POST', '/management/v1/password_sources', body, { orgId });
  };
  for (let n = 0; n < 50; n++) assert.equal((await add(n)).status, 200);
  assert.equal(errorId(await add(50)), 'PASSWORD-SOURCES-FULL');
});

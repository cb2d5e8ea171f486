import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { claimJob, endJob, releaseJob, renewJob } from '../../../src/imports/drafts/convert-lease.ts';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { columnsOf } from '../../../src/imports/drafts/guess.ts';
import { markOf } from '../../../src/passwords/marks.ts';
import { startDispatcher } from '../../../workers/dispatcher.ts';
import { startImportWorker } from '../../../workers/import-users.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { createFile, newDraft, sendBytes, uploadFile } from '../../support/imports/drafts.ts';
import { waitFor } from '../../support/wait.ts';

const BCRYPT = '$2b$04$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC';
/** Of `correct horse` with the pepper after it, by libxcrypt. */
const PEPPERED = '$2b$04$abcdefghijklmnopqrstuu.kQv/P7qe9hj9n4VXXGiB6LKdwQKpP.';
const PEPPER = 'a pepper of the shöp';
const GERMAN = [
  'Personalnr;Mail;Vorname;Nachname;Kennwort;Notiz',
  `10017;fay@acme.example;Fay;Füchs;${BCRYPT};Umzug`,
  `10018;eve@acme.example;Eve;Evans;${BCRYPT};`,
  '10019;no address;Bob;Brown;;',
  `10017;twice@acme.example;Fay;Fox;${BCRYPT};`,
  '',
].join('\n');
const MAPPING = { userId: 'Personalnr', email: 'Mail', hash: 'Kennwort' };
const go = new AbortController().signal;

let api: TestApi;
let orgId: string;
let workers: { stop(): Promise<unknown> }[];
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
  workers = [startImportWorker(api.deps), startDispatcher(api.deps)];
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await api.stop();
});

const call = (method: string, id: string, action = '', body?: unknown) =>
  api.call(method, `/admin/v1/imports/${id}${action}`, body);
const get = async (id: string) => (await call('GET', id)).body;

async function converted(id: string, body: unknown = {}) {
  const asked = await call('POST', id, '/_convert', body);
  assert.equal(asked.body.state, 'IMPORT_STATE_CONVERTING', JSON.stringify(asked.body));
  assert.equal(await convertRound(api.deps, 'test', go), true);
  return get(id);
}

async function germanDraft(): Promise<string> {
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, Buffer.from(GERMAN, 'latin1'));
  return id;
}

test('a CSV with German headings is recognized, mapped by hand, converted again, checked and started', async () => {
  const id = await germanDraft();
  const guess = (await call('GET', id, '/guess')).body;
  assert.deepEqual([guess.source, guess.mapping.email], ['csv', 'Mail']);
  const [file] = guess.files;
  assert.deepEqual([file.encoding, file.delimiter, file.format], ['windows-1252', ';', 'csv']);
  const column = (name: string) => file.columns.find((one: { name: string }) => one.name === name);
  assert.deepEqual(column('Kennwort').samples, [{ hidden: 'bcrypt' }]);
  assert.deepEqual(column('Nachname').samples[0], { text: 'Füchs' });
  assert.ok(!JSON.stringify(guess).includes('$2b$'), 'no hash is shown');

  const first = await converted(id);
  assert.deepEqual([first.state, first.counts.total, first.draft.summary.numericIds], ['IMPORT_STATE_DRAFT', 4, 4]);
  const second = await converted(id, { source: 'csv', mapping: MAPPING });
  assert.deepEqual([second.counts.total, second.counts.failed], [4, 1]);
  assert.equal(second.draft.summary.hashes[0].scheme, 'bcrypt (latin1, digest)');

  assert.equal((await call('POST', id, '/_check', { onExisting: 'skip' })).body.state, 'IMPORT_STATE_CHECKING');
  assert.equal(await convertRound(api.deps, 'test', go), true);
  const checked = await waitFor(
    async () => {
      const now = await get(id);
      return now.state === 'IMPORT_STATE_CHECKED' ? now : undefined;
    },
    { what: 'the check' },
  );
  const { counts } = checked.draft.check;
  assert.deepEqual([counts.succeeded, counts.skipped, counts.failed], [2, 1, 1]);
  const dryRun = await get(checked.draft.check.importId);
  assert.deepEqual([dryRun.dryRun, dryRun.hashes[0].users], [true, 3]);
  assert.equal((await api.call('GET', '/v2beta/users/10018')).status, 404, 'a check writes nobody');

  const started = await call('POST', id, '/_start', { timeout: '10m' });
  assert.deepEqual([started.status, started.body.importId], [200, id]);
  const done = await waitFor(
    async () => {
      const now = await get(id);
      return now.counts.pending === 0 ? now : undefined;
    },
    { what: 'the import' },
  );
  assert.deepEqual([done.counts.succeeded, done.counts.failed, done.draft], [2, 2, undefined]);
  const user = (await api.call('GET', '/v2beta/users/10017')).body.user;
  assert.equal(user.human.profile.familyName, 'Füchs');
  assert.equal((await call('POST', id, '/_start', { timeout: '10m' })).status, 400);
});

test('files that cannot be read leave a readable error with the line, and can be converted again', async () => {
  const id = await newDraft(api, { orgId });
  const path = await uploadFile(api, id, 'id,email\n1,a@example.com\n2,"b@example.com\n', { name: 'broken.csv' });
  const unreadable = await converted(id, { source: 'csv' });
  assert.equal(unreadable.state, 'IMPORT_STATE_UNREADABLE');
  assert.match(unreadable.draft.error.message, /^broken\.csv, line 3: The file is not valid CSV/);
  assert.equal(errorId(await call('POST', id, '/_start', { timeout: '1h' })), 'IMPORT-STATE');
  await api.call('DELETE', path);
  await uploadFile(api, id, gzipSync('id,email\n1,a@example.com\n2,b@example.com\n'));
  assert.equal((await converted(id, { source: 'csv' })).counts.total, 2);
});

test('users and hashes come from files of their own, and a broken record stops the start unless it is skipped', async () => {
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, 'id,email,given\n1,a@example.com,A\n2,b@example.com,B,C\n', { name: 'people.csv' });
  const draft = await converted(id, { source: 'csv', idPrefix: 'shop-' });
  assert.equal(draft.draft.summary.broken[0].count, 1);
  const refused = await call('POST', id, '/_start', { timeout: '1h' });
  assert.deepEqual([refused.status, errorId(refused)], [400, 'DRAFT-BROKEN']);
  assert.equal((await call('POST', id, '/_start', { timeout: '1h', skipBroken: true })).status, 200);
});

test('a password source verifies the users whose password the files do not contain', async () => {
  const source = { name: 'Old', kind: 'http', settings: { url: 'https://old.example.com/check' } };
  const { sourceId } = (await api.call('POST', '/management/v1/password_sources', source, { orgId })).body;
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, `userId,email,hash\nps-1,ps1@acme.example,\nps-2,ps2@acme.example,${BCRYPT}\n`);
  const unknown = await call('POST', id, '/_convert', { source: 'csv', passwordSource: 'none' });
  assert.deepEqual([unknown.status, errorId(unknown)], [400, 'IMPORT-PASSWORD-SOURCE']);
  const draft = await converted(id, { source: 'csv', passwordSource: sourceId });
  assert.equal(draft.draft.conversion.passwordSource, sourceId);
  assert.equal((await call('POST', id, '/_start', { timeout: '1h' })).status, 200);
  const written = () =>
    api.deps.pool.query(`select password_hash as hash, state from users where id like 'ps-%' order by id`);
  const { rows } = await waitFor(
    async () => {
      const found = await written();
      return found.rowCount === 2 ? found : undefined;
    },
    { what: 'the users' },
  );
  assert.deepEqual(rows, [
    { hash: markOf(sourceId), state: 'active' },
    { hash: `$form$latin1,digest$${BCRYPT}`, state: 'active' },
  ]);
});

test('a formula says how the hashes were made, and one that cannot be read is refused at once', async () => {
  const id = await newDraft(api, { orgId });
  const digest = createHash('sha1').update('Xq7hidden').digest('hex');
  await uploadFile(api, id, `userId,email,pw,salt\nhf-1,hf1@acme.example,${digest},Xq7\n`);
  const refused = await call('POST', id, '/_convert', { source: 'csv', hashFormat: 'sha1(pepper + password)' });
  assert.deepEqual([refused.status, errorId(refused)], [400, 'DRAFT-OPTIONS']);
  assert.match(JSON.stringify(refused.body), /"field":"hashFormat"/);
  const mapping = { hash: 'pw' };
  const bare = await converted(id, { source: 'csv', mapping });
  assert.deepEqual(bare.draft.summary.hashes[0].scheme, '$sha1-with-salt$');
  assert.equal(bare.draft.summary.notes[0].id, 'HASH-WITH-SALT');
  const draft = await converted(id, { source: 'csv', mapping, hashFormat: 'sha1(salt + password)' });
  const [{ scheme, verifiable }] = draft.draft.summary.hashes;
  assert.deepEqual([scheme, verifiable], ['formula (latin1)', true]);
  assert.equal(draft.draft.conversion.hashFormat, 'sha1(salt + password)');
});

test('passwords that the old system perhaps made up are kept and counted, or dropped as the request says', async () => {
  const id = await newDraft(api, { orgId });
  const row = `up-1,up1@acme.example,${BCRYPT},2024-01-15 10:30:00+00,`;
  await uploadFile(api, id, `id,email,encrypted_password,email_confirmed_at,last_sign_in_at\n${row}\n`);
  const outcome = async (body: object) => {
    const { summary, conversion } = (await converted(id, { source: 'supabase', ...body })).draft;
    const noted = summary.notes.map((note: { id: string }) => note.id).filter((one: string) => /^PASSWORD/.test(one));
    return { noted, hashes: summary.hashes.length, decision: conversion.unknownPasswords };
  };
  assert.deepEqual(await outcome({}), { noted: ['PASSWORD-PERHAPS-UNKNOWN'], hashes: 1, decision: undefined });
  assert.deepEqual(await outcome({ unknownPasswords: 'keep' }), { noted: [], hashes: 1, decision: 'keep' });
  const dropped = { noted: ['PASSWORD-UNKNOWN'], hashes: 0, decision: 'drop' };
  assert.deepEqual(await outcome({ unknownPasswords: 'drop' }), dropped);
  const refused = await call('POST', id, '/_convert', { unknownPasswords: 'perhaps' });
  assert.equal(refused.status, 400);
});

test('the host of passkeys whose export does not name it comes from the request', async () => {
  const id = await newDraft(api, { orgId });
  const key = {
    credentialID: 'AQID',
    publicKey:
      'pQECAyYgASFYIKsEEgGtN35kIPbKIKGIa3VDSSjpPlUR_COnZzqtbx7RIlgg1tqbyUA0YDp_V9FWaDQxRoq1lQP4ENs6Qskf6aKwwz4',
    counter: 0,
  };
  const user = { id: 'ph-1', email: 'ph1@acme.example', emailVerified: true, accounts: [], passkeys: [key] };
  await uploadFile(api, id, JSON.stringify([user]));
  const outcome = async (body: object) => {
    const { summary, conversion } = (await converted(id, { source: 'better-auth', ...body })).draft;
    return [summary.notes.map((note: { id: string }) => note.id), conversion.passkeyRpId];
  };
  assert.deepEqual(await outcome({}), [['NAME-MISSING', 'PASSKEY-HOST-UNKNOWN'], undefined]);
  assert.deepEqual(await outcome({ passkeyRpId: 'auth.example.com' }), [['NAME-MISSING'], 'auth.example.com']);
  const refused = await call('POST', id, '/_convert', { passkeyRpId: 'https://auth.example.com' });
  assert.equal(refused.status, 400);
});

test('a pepper stays for later conversions, is never shown, and verifies after the start', async () => {
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, `userId,userName,email,hash\npp-1,pp1,pp1@acme.example,${PEPPERED}\n`);
  const asked = (headers: Record<string, string>) =>
    api.call('POST', `/admin/v1/imports/${id}/_convert`, { source: 'csv' }, { headers });
  const refused = await asked({ 'password-pepper': 'no base64!' });
  assert.deepEqual([refused.status, errorId(refused)], [400, 'IMPORT-PEPPER']);
  const pepper = { 'password-pepper': Buffer.from(PEPPER).toString('base64') };
  const seen = [(await asked(pepper)).body];
  assert.equal(await convertRound(api.deps, 'test', go), true);
  await asked({ 'password-pepper': Buffer.from('another').toString('base64'), 'password-pepper-mode': 'prefix' });
  await asked(pepper);
  seen.push(await converted(id, { source: 'csv' }));
  assert.deepEqual(
    seen.map(({ draft }) => draft.pepper),
    ['suffix', 'suffix'],
  );
  assert.ok(!JSON.stringify(seen).includes(PEPPER) && !JSON.stringify(seen).includes(pepper['password-pepper']));
  assert.equal((await call('POST', id, '/_start', { timeout: '10m' })).status, 200);
  await waitFor(async () => (await get(id)).counts.succeeded === 1, { what: 'the import' });
  const login = async (password: string) =>
    (await api.call('POST', '/v2beta/sessions', { checks: { user: { loginName: 'pp1' }, password: { password } } }))
      .status;
  assert.deepEqual([await login('wrong horse'), await login('correct horse')], [400, 201]);
});

test('a guess says what is wrong with a file that no source recognizes', async () => {
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, '{"error":"unauthorized","error_description":"expired"}', { name: 'users.json' });
  const { candidates, files } = (await call('GET', id, '/guess')).body;
  assert.deepEqual(candidates, []);
  assert.match(files[0].problem, /^users\.json is the answer of an API that failed, not an export\./);
  const other = await newDraft(api, { orgId });
  await uploadFile(api, other, 'id,email\n1,one@example.com\n', { name: 'users.csv' });
  assert.equal((await call('GET', other, '/guess')).body.files[0].problem, undefined);
});

test('a guess is made from the first piece, while the upload continues', async () => {
  const id = await newDraft(api, { orgId });
  const path = String((await createFile(api, id, { size: 10 ** 9 })).headers.get('location'));
  await sendBytes(api, path, 0, Buffer.from(GERMAN, 'latin1'));
  assert.equal((await call('GET', id, '/guess')).body.source, 'csv');
  const early = await call('POST', id, '/_convert', {});
  assert.deepEqual([early.status, errorId(early)], [400, 'DRAFT-INCOMPLETE']);
  await call('POST', id, '/_discard', {});
});

test('what cannot be converted or started is refused with the reason', async () => {
  const id = await newDraft(api);
  assert.equal(errorId(await call('POST', id, '/_convert', {})), 'DRAFT-INCOMPLETE');
  await uploadFile(api, id, 'id,email\n1,a@example.com\n');
  const unknown = await call('POST', id, '/_convert', { source: 'cats' });
  assert.deepEqual([unknown.status, errorId(unknown)], [400, 'DRAFT-OPTIONS']);
  assert.equal(
    errorId(await call('POST', id, '/_convert', { source: 'csv', mapping: { cat: 'id' } })),
    'DRAFT-OPTIONS',
  );
  const ignored = await call('POST', id, '/_convert', { source: 'devise', mapping: { email: 'id' } });
  assert.deepEqual(
    [ignored.status, errorId(ignored)],
    [400, 'DRAFT-OPTIONS'],
    'Devise says itself what the address is',
  );
  assert.equal((await call('POST', id, '/_convert', { orgId: 'no-such-organization' })).status, 404);
  await converted(id, { source: 'csv' });
  assert.equal(errorId(await call('POST', id, '/_start', { timeout: '1h' })), 'DRAFT-ORG');
  assert.equal(errorId(await call('POST', id, '/_start', { timeout: 'soon' })), 'IMPORT-TIMEOUT');
  assert.equal((await converted(id, { source: 'csv', orgId })).orgs[0].orgId, orgId);
});

test('a job has one holder, and what a late one writes is refused', async () => {
  const { pool } = api.deps;
  const id = await germanDraft();
  await call('POST', id, '/_convert', {});
  const job = await claimJob(pool, `${hostname()}:1`);
  assert.ok(job);
  assert.equal(await claimJob(pool, 'another'), undefined);
  assert.equal(await renewJob(pool, job, { bytes: 1, totalBytes: 2, users: 0 }), true);
  assert.equal((await get(id)).draft.progress.bytes, 1);
  await pool.query(`update import_preparations set held_until = now() where import_id = $1`, [id]);
  const next = await claimJob(pool, 'another');
  assert.deepEqual([next?.importId, next?.attempts], [id, 2]);
  assert.equal(await renewJob(pool, job), false);
  assert.equal(await endJob(pool, job, 'draft'), false);
  await releaseJob(pool, job);
  assert.equal(await claimJob(pool, 'a third'), undefined, 'the late one released nothing');
  await call('POST', id, '/_discard', {});
  assert.equal(next && (await renewJob(pool, next)), false, 'a discarded draft is nobody’s work');
});

test('no sample shows what may be a hash or a secret', () => {
  const record = {
    id: '6f9619ff-8b86-d011-b42d-00c04fc964ff',
    odd: '5f4dcc3b5aa765d61d8327deb882cf99',
    password: 'correct horse',
    apiToken: 'abc',
    profile: { mail: 'fay@acme.example', list: [1] },
    '@context': { realm: 'acme' },
  };
  const samples = Object.fromEntries(columnsOf([record]));
  assert(!Object.keys(samples).some((name) => name.includes('realm')), 'what stands around the records is no column');
  assert.deepEqual(samples.id, [{ text: record.id }]);
  assert.deepEqual(samples['profile.mail'], [{ text: 'fay@acme.example' }]);
  for (const name of ['odd', 'password', 'apiToken', 'profile.list']) assert.ok(samples[name]?.[0]?.hidden, name);
});

test('a draft of another organization goes before the second draft of one, and has a place of its own', async () => {
  const { pool } = api.deps;
  const owner = async () => api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
  const [ann, eve] = [await owner(), await owner()];
  const request = async (options: { token: string }) => {
    const id = await newDraft(api, {}, options);
    await uploadFile(api, id, GERMAN, {}, options);
    await api.call('POST', `/admin/v1/imports/${id}/_convert`, {}, options);
    return id;
  };
  const [first, second, third] = [await request(ann), await request(ann), await request(eve)];
  const jobs = [await claimJob(pool, 'one'), await claimJob(pool, 'two')];
  assert.deepEqual(
    jobs.map((job) => job?.importId),
    [first, third],
  );
  assert.equal(await claimJob(pool, 'three', true), undefined, 'both organizations have a job at work');
  const last = await claimJob(pool, 'three');
  assert.equal(last?.importId, second);
  for (const job of [...jobs, last]) assert.ok(job && (await endJob(pool, job, 'draft')));
});

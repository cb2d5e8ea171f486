/** The check of a draft judges the draft's entries where they are, and keeps outcomes of those that have one to tell. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';
import { entry } from '../../support/imports/imports.ts';
import { hold, waiters } from '../../support/stores/locks.ts';
import { waitFor } from '../../support/wait.ts';

/** More than one batch. */
const MANY = 1500;

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const call = (method: string, path: string, body?: unknown) => api.call(method, `/admin/v1/imports/${path}`, body);
const get = async (id: string) => (await call('GET', id)).body;
const round = (signal = new AbortController().signal) => convertRound(api.deps, 'test', signal);

async function draftOf(users: object[]): Promise<string> {
  const lines = users.map((user) => `${JSON.stringify({ orgId, ...user })}\n`).join('');
  const headers = { 'content-type': 'application/x-ndjson' };
  const answer = await api.call('POST', '/admin/v1/import?draft=true', lines, { headers });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.importId;
}

async function ask(id: string, body: object = {}): Promise<void> {
  const asked = await call('POST', `${id}/_check`, body);
  assert.equal(asked.status, 200, JSON.stringify(asked.body));
}

/** The dry run of a whole check. */
async function checked(id: string, body?: object): Promise<Answer['body']> {
  await ask(id, body);
  assert.equal(await round(), true);
  const { state, draft } = await get(id);
  assert.equal(state, 'IMPORT_STATE_CHECKED');
  return get(draft.check.importId);
}

const many = (name: string) => Array.from({ length: MANY }, (_, n) => entry(`${name}-${n}`));
const states = async (id: string, query = '') =>
  (await call('GET', `${id}/items?pageSize=1000${query}`)).body.items.map((item: { userId: string; state: string }) => [
    item.userId.replace('id-', ''),
    item.state.replace('ITEM_STATE_', ''),
  ]);
const stored = async (id: string) => {
  const text = 'select ordinal from import_items where import_id = $1 order by ordinal';
  return (await api.deps.pool.query<{ ordinal: number }>(text, [id])).rows.map(({ ordinal }) => ordinal);
};

/** Holds what every batch reads: begins a check, and calls `act` while its first batch waits. */
async function during(id: string, act: (checkId: string) => Promise<unknown>, signal?: AbortSignal): Promise<string> {
  const gate = await hold(api.deps.pool, 'lock table removed_users in access exclusive mode');
  const working = round(signal);
  const check = await waitFor(async () => (await get(id)).draft?.check, { what: 'the check' });
  await waiters(api.deps.pool, 1);
  await act(check.importId);
  await gate.commit();
  assert.equal(await working, true);
  return check.importId;
}

test('only entries with an outcome to tell are stored; the items of the check are all entries, also after the start', async () => {
  const old = { username: 'ck-old', organization: { orgId }, profile: { givenName: 'A', familyName: 'B' } };
  const added = { ...old, userId: 'ck-old', email: { email: 'old@acme.example', isVerified: true } };
  assert.equal((await api.call('POST', '/v2beta/users/human', added)).status, 200);
  const users = ['ck-1', 'ck-old', 'ck-1', 'ck-2', 'ck-bad', 'ck-3'].map((id) => entry(id));
  Object.assign(users[4]?.user ?? {}, { email: { email: 'x' } });
  const id = await draftOf(users);
  const check = await checked(id, { onExisting: 'skip' });
  const { total, succeeded, skipped, failed, pending } = check.counts;
  assert.deepEqual([total, succeeded, skipped, failed, pending], [6, 3, 2, 1, 0]);
  assert.deepEqual(await stored(check.importId), [1, 2, 4]);
  const expected = [
    ['ck-1', 'SUCCEEDED'],
    ['ck-old', 'SKIPPED'],
    ['ck-1', 'SKIPPED'],
    ['ck-2', 'SUCCEEDED'],
    ['ck-bad', 'FAILED'],
    ['ck-3', 'SUCCEEDED'],
  ];
  assert.deepEqual(await states(check.importId), expected);
  assert.deepEqual(await states(check.importId, '&state=ITEM_STATE_FAILED'), [expected[4]]);
  assert.deepEqual(await states(check.importId, '&query=id-ck-3'), [expected[5]]);
  assert.deepEqual(check.success.orgs, [{ orgId, humanUserIds: ['id-ck-1', 'id-ck-2', 'id-ck-3'] }]);
  const one = (await call('GET', `${check.importId}/items/3`)).body;
  assert.deepEqual([one.userId, one.state, one.entry], ['id-ck-2', 'ITEM_STATE_SUCCEEDED', undefined]);
  const started = await call('POST', `${id}/_start`, { timeout: '10m', onExisting: 'skip' });
  assert.equal(started.status, 200, JSON.stringify(started.body));
  assert.deepEqual(await states(check.importId), expected);
});

test('a check that is paused continues where it was, and each entry is judged once', async () => {
  const id = await draftOf(many('pa'));
  await ask(id);
  const checkId = await during(id, (of) => call('POST', `${of}/_pause`));
  assert.deepEqual([(await get(id)).state, (await get(checkId)).counts.pending], ['IMPORT_STATE_CHECKING', MANY]);
  assert.equal(await round(), false, 'a paused check is no work');
  assert.equal((await call('POST', `${checkId}/_resume`, {})).status, 200);
  assert.equal(await round(), true);
  const { counts, state } = await get(checkId);
  assert.deepEqual([state, counts.succeeded, counts.pending], ['IMPORT_STATE_SUCCEEDED', MANY, 0]);
});

test('another worker continues the check of one that stopped', async () => {
  const id = await draftOf(many('st'));
  await ask(id);
  const stopping = new AbortController();
  const checkId = await during(id, async () => stopping.abort(), stopping.signal);
  const { pending, succeeded } = (await get(checkId)).counts;
  assert.ok(succeeded > 0 && pending > 0, `${succeeded} judged, ${pending} not`);
  const [first] = (await call('GET', `${checkId}/items?pageSize=1`)).body.items;
  const [last] = (await call('GET', `${checkId}/items?pageToken=${MANY - 1}`)).body.items;
  assert.deepEqual([first.state, last.state], ['ITEM_STATE_SUCCEEDED', 'ITEM_STATE_PENDING']);
  assert.equal(await round(), true);
  assert.equal((await get(checkId)).counts.succeeded, MANY);
});

test('a check ends with its draft, keeps its outcomes, and cannot be resumed', async () => {
  const bad = entry('di-bad');
  bad.user.email = { email: 'x' } as typeof bad.user.email;
  const id = await draftOf([bad, ...many('di')]);
  await ask(id);
  const checkId = await during(id, () => call('POST', `${id}/_discard`));
  const { state, counts } = await get(checkId);
  assert.deepEqual([state, counts.failed, counts.succeeded], ['IMPORT_STATE_CANCELLED', 1, 0]);
  assert.deepEqual(await states(checkId), [['di-bad', 'FAILED']]);
  const resumed = await call('POST', `${checkId}/_resume`, {});
  assert.deepEqual([resumed.status, errorId(resumed)], [400, 'IMPORT-ERASED']);
});

test('a password that an existing user has is no change; another one is', async () => {
  const named = (n: number) => ({
    userId: `pw-${n}`,
    username: `pw-${n}`,
    organization: { orgId },
    profile: { givenName: 'Ann', familyName: 'Arbor' },
    email: { email: `pw-${n}@example.com`, isVerified: true },
    password: { password: 'Correct-horse-1' },
  });
  for (const n of [1, 2]) assert.equal((await api.call('POST', '/v2beta/users/human', named(n))).status, 200);
  const sent = [1, 2].map((n) => ({
    userId: `pw-${n}`,
    user: {
      userName: `pw-${n}`,
      profile: { firstName: 'Ann', lastName: 'Arbor' },
      email: { email: `pw-${n}@example.com`, isEmailVerified: true },
      password: n === 1 ? 'Correct-horse-1' : 'Another-horse-2',
    },
  }));
  const { importId } = await checked(await draftOf(sent), { onExisting: 'update' });
  const { items } = (await call('GET', `${importId}/items`)).body;
  const found = items.map(({ state, changed }: { state: string; changed?: string[] }) => [state, changed]);
  assert.deepEqual(found, [
    ['ITEM_STATE_SKIPPED', undefined],
    ['ITEM_STATE_SUCCEEDED', ['password']],
  ]);
});

test('a check that an earlier version made, with items for all entries, is listed and corrected', async () => {
  const bad = entry('ev-bad');
  bad.user.email = { email: 'x' } as typeof bad.user.email;
  const id = await draftOf([entry('ev-1'), bad]);
  const { importId } = await checked(id);
  await api.deps.pool.query(
    `with all_of as (
       insert into import_items (import_id, ordinal, org_index, state, user_id, user_name)
       select $2, ordinal, org_index, 'succeeded', user_id, user_name from import_items where import_id = $1 and ordinal = 0)
     update import_dry_runs set entries_of = null, judged_to = 0 where import_id = $2`,
    [id, importId],
  );
  assert.equal(await round(), false);
  assert.deepEqual(await states(importId), [
    ['ev-1', 'SUCCEEDED'],
    ['ev-bad', 'FAILED'],
  ]);
  const fixed = await call('PATCH', `${id}/items/1`, { user: { email: { email: 'ev@acme.example' } } });
  assert.equal(fixed.body.error.details[0].id, 'IMPORT-USER-FIXED', JSON.stringify(fixed.body));
  assert.equal((await checked(id)).counts.succeeded, 2);
});

test('a check counts the entries of its draft against the limit of users, without those who exist', async () => {
  const { orgId: limited } = await api.setupOrg();
  const member = { username: 'li-old', organization: { orgId: limited }, profile: { givenName: 'A', familyName: 'B' } };
  const email = { email: 'li@acme.example', isVerified: true };
  assert.equal((await api.call('POST', '/v2beta/users/human', { ...member, userId: 'li-old', email })).status, 200);
  const { rows } = await api.deps.pool.query('select count(*)::int as n from users where org_id = $1', [limited]);
  const set = await api.call('PUT', '/management/v1/orgs/me/limits', { users: rows[0].n + 1 }, { orgId: limited });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  const of = (...names: string[]) => draftOf(names.map((name) => ({ ...entry(name), orgId: limited })));
  const { counts } = await checked(await of('li-old', 'li-1'), { onExisting: 'skip' });
  assert.deepEqual([counts.skipped, counts.succeeded], [1, 1]);
  const tooMany = await of('li-1', 'li-2');
  await ask(tooMany);
  assert.equal(await round(), true);
  const { state, draft } = await get(tooMany);
  assert.deepEqual([state, draft.error.details[0].id], ['IMPORT_STATE_DRAFT', 'ORG-LIMIT-USERS']);
});

test('the mails of a draft are shown in each language of its users, with how many get which', async () => {
  const person = (name: string, preferredLanguage?: string, more: object = {}) =>
    entry(name, {
      profile: { firstName: 'Ann', lastName: 'Arbor', ...(preferredLanguage ? { preferredLanguage } : {}) },
      email: { email: `${name}@example.com`, isEmailVerified: false },
      ...more,
    });
  const users = [
    ...[person('la-1', 'de'), person('la-2', 'de-CH'), person('la-3', 'en'), person('la-4', 'ko'), person('la-5')],
    person('la-6', 'de', { hashedPassword: undefined }),
  ];
  const id = await draftOf(users);
  const preview = async () => (await call('GET', `${id}/mails_preview`)).body;
  type Mail = { kind: string; language: string; users?: number; subject: string; html: string; text: string };
  const before: Mail[] = (await preview()).mails;
  assert.deepEqual(
    before.map(({ kind, language, users: n }) => `${kind} ${language} ${n}`),
    ['verification en undefined', 'initialisation en undefined', 'passkey en undefined'],
  );
  await checked(id);
  const { language, mails } = (await preview()) as { language: string; mails: Mail[] };
  assert.equal(language, 'en');
  assert.deepEqual(
    mails.map((mail) => `${mail.kind} ${mail.language} ${mail.users}`),
    ['verification en 3', 'verification de 2', 'initialisation en 0', 'initialisation de 1', 'passkey en 0'],
  );
  const german = mails.find((mail) => mail.kind === 'initialisation' && mail.language === 'de') as Mail;
  assert.match(german.subject, /: Richten Sie Ihr Konto ein$/);
  assert.match(german.text, /^Guten Tag,\n/);
  assert.match(german.html, /<html lang="de" dir="ltr">/);
});

test('the mails of an import into several organizations are shown for one of them, with the number of each', async () => {
  const other = await api.setupOrg();
  const most = await api.setupOrg();
  const person = (name: string, org: string, preferredLanguage: string) => ({
    ...entry(name, {
      profile: { firstName: 'Ann', lastName: 'Arbor', preferredLanguage },
      email: { email: `${name}@example.com`, isEmailVerified: false },
    }),
    orgId: org,
  });
  const id = await draftOf([
    person('lo-1', orgId, 'de'),
    person('lo-2', other.orgId, 'fr'),
    ...['lo-3', 'lo-4', 'lo-5'].map((name) => person(name, most.orgId, 'en')),
    person('lo-6', orgId, 'de'),
  ]);
  const preview = (query = '') => call('GET', `${id}/mails_preview${query}`);
  type Mail = { kind: string; language: string; users?: number; subject: string };
  const sentOf = ({ body }: Answer) =>
    (body.mails as Mail[])
      .filter(({ users = 0 }) => users > 0)
      .map((mail) => `${mail.kind} ${mail.language} ${mail.users}`);
  const before = (await preview()).body;
  assert.deepEqual([before.orgs, before.moreOrgs, before.kinds], [[], 0, undefined]);
  const check = await checked(id);

  const first = await preview();
  assert.deepEqual(
    first.body.orgs.map((org: { orgId: string; mails: number }) => [org.orgId, org.mails]),
    [
      [most.orgId, 3],
      [orgId, 2],
      [other.orgId, 1],
    ],
  );
  assert.deepEqual(first.body.kinds, { verification: 6, initialisation: 0, passkey: 0 });
  assert.deepEqual([first.body.orgId, sentOf(first)], [most.orgId, ['verification en 3']]);
  const french = await preview(`?orgId=${other.orgId}`);
  assert.deepEqual([french.body.orgId, sentOf(french)], [other.orgId, ['verification fr 1']]);
  const { name } = french.body.orgs.find((org: { orgId: string }) => org.orgId === other.orgId);
  const mail = french.body.mails.find((one: Mail) => one.language === 'fr');
  assert.ok(name !== '' && mail.subject.includes(name), mail.subject);
  assert.deepEqual(sentOf(await preview(`?orgId=${orgId}`)), ['verification de 2']);
  for (const unknown of ['?orgId=nobody', '?orgId=', `?orgId=${orgId}&orgId=${orgId}`]) {
    assert.equal(errorId(await preview(unknown)), 'IMPORT-QUERY', unknown);
  }

  await api.deps.pool.query(
    `insert into import_orgs (import_id, org_index, org_id, mails)
     select $1, 1000 + n, 'gone-' || n, '{"initialise": 1, "verify_email de": 1}' from generate_series(1, 200) n`,
    [check.importId],
  );
  const { orgs, moreOrgs } = (await preview()).body;
  assert.deepEqual(
    [orgs.length, moreOrgs, orgs[0].mails, orgs[2]],
    [100, 103, 3, { orgId: 'gone-1', name: '', mails: 2 }],
  );
});

/** Corrections of a draft's entries before its import starts, through the API. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { startDispatcher } from '../../../workers/dispatcher.ts';
import { startImportWorker } from '../../../workers/import-users.ts';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';
import { newDraft, uploadFile } from '../../support/imports/drafts.ts';
import { waitFor } from '../../support/wait.ts';

const BCRYPT = '$2b$04$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC';
const BAD_HASH = `$2e${BCRYPT.slice(3)}`;
const PEOPLE = [
  'userId,userName,email,hash',
  `fd-1,taken,one@acme.example,${BCRYPT}`,
  `fd-2,two,two@acme.example,${BCRYPT}`,
  `fd-3,three,three@acme.example,${BAD_HASH}`,
  `fd-4,four,not an address,${BAD_HASH}`,
  `fd-5,five,five@acme.example,${BCRYPT}`,
  'fd-5,again,again@acme.example,',
  'fd-7,seven,,',
  '',
].join('\n');

let api: TestApi;
let orgId: string;
let workers: { stop(): Promise<unknown> }[];
/** Everything that the service answered. */
let answered = '';
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
  workers = [startImportWorker(api.deps), startDispatcher(api.deps)];
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await api.stop();
});

async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await api.call(method, `/admin/v1/imports/${path}`, body);
  answered += JSON.stringify(answer.body);
  return answer;
}
const get = async (id: string) => (await call('GET', id)).body;
const causesOf = async (id: string) => (await call('GET', `${id}/causes`)).body;
const causeAt = async (id: string, field: string, message?: string) =>
  (await causesOf(id)).causes.find(
    (c: { field?: string; message: string }) => c.field === field && (!message || c.message === message),
  )?.cause as string;
const until = (id: string, done: (now: Answer['body']) => boolean) =>
  waitFor(
    async () => {
      const now = await get(id);
      return done(now) ? now : undefined;
    },
    { what: `import ${id}` },
  );
const work = async () => assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);

async function check(id: string): Promise<Answer['body']> {
  const asked = await call('POST', `${id}/_check`, {});
  assert.equal(asked.body.state, 'IMPORT_STATE_CHECKING', JSON.stringify(asked.body));
  await work();
  return until(id, ({ state }) => state === 'IMPORT_STATE_CHECKED');
}

async function draftOf(file: string): Promise<string> {
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, file);
  assert.equal((await call('POST', `${id}/_convert`, { source: 'csv' })).status, 200);
  await work();
  return id;
}

test("a checked draft's entries are corrected one by one and by cause, judged by the next check, and started", async () => {
  const { status } = await api.call('POST', '/v2beta/users/human', {
    username: 'taken',
    organization: { orgId },
    profile: { givenName: 'Ann', familyName: 'Arbor' },
    email: { email: 'elsewhere@acme.example', isVerified: true },
  });
  assert.equal(status, 200);
  const id = await draftOf(PEOPLE);
  const early = await call('GET', `${id}/causes`);
  assert.deepEqual([early.status, errorId(early)], [400, 'IMPORT-STATE'], 'nothing is judged yet');
  const checked = await check(id);
  assert.deepEqual([checked.counts.failed, checked.draft.check.counts.failed], [3, 5]);

  const found = await causesOf(id);
  assert.deepEqual([found.failed, found.corrected], [5, 0]);
  const taken = found.causes.find((c: { id: string }) => c.id === 'USER-NAME-TAKEN');
  assert.deepEqual(taken.first, [{ index: 0, orgId, userId: 'fd-1', userName: 'taken' }]);

  const item = (await call('GET', `${id}/items/3`)).body;
  assert.deepEqual([item.state, item.entry.user.hashedPassword], ['ITEM_STATE_FAILED', { scheme: '$2e$' }]);
  const refused = await call('PATCH', `${id}/items/3`, { user: { email: { email: 'still not' } } });
  assert.deepEqual([refused.status, errorId(refused)], [400, 'IMPORT-USER-INVALID']);
  assert.equal((await get(id)).counts.failed, 3, 'a refused correction changes nothing');
  const half = await call('PATCH', `${id}/items/3`, { user: { email: { email: 'four@acme.example' } } });
  assert.equal(half.body.error.details[0].id, 'IMPORT-USER-INVALID', 'the hash is still invalid');

  const fix = (body: unknown) => call('POST', `${id}/_fix`, body);
  const hashes = { cause: await causeAt(id, 'user.hashedPassword.value'), remedy: 'drop-hash' };
  const preview = await fix({ ...hashes, dryRun: true });
  assert.deepEqual([preview.body.changed, preview.body.examples[0].before], [2, { scheme: '$2e$' }]);
  assert.deepEqual((await fix(hashes)).body, { changed: 2, unchanged: 0, next: null });
  assert.equal((await fix({ cause: taken.cause, remedy: 'email-as-user-name' })).body.changed, 1);
  assert.equal(
    (await fix({ cause: await causeAt(id, 'user.email.email', 'is required'), remedy: 'leave-out' })).body.changed,
    1,
  );

  const corrected = await get(id);
  assert.deepEqual([corrected.state, corrected.counts.skipped], ['IMPORT_STATE_CHECKED', 1]);
  assert.deepEqual([(await causesOf(id)).corrected, corrected.draft.check.counts.skipped], [3, 1]);
  assert.equal((await call('GET', `${id}/items/2`)).body.error.details[0].id, 'IMPORT-USER-FIXED');

  const again = (await check(id)).draft.check.counts;
  assert.deepEqual([again.failed, again.skipped, again.succeeded], [1, 1, 5], 'only the second fd-5 is left');
  const dryRun = await get((await get(id)).draft.check.importId);
  assert.deepEqual(
    dryRun.hashes.map((h: { scheme: string; users: number }) => [h.scheme, h.users]),
    [['bcrypt (latin1, digest)', 3]],
  );
  const twice = (await causesOf(id)).causes[0];
  assert.equal((await fix({ cause: twice.cause, remedy: 'keep-first' })).body.changed, 1);

  assert.equal((await call('POST', `${id}/_start`, { timeout: '10m' })).status, 200);
  const { state, counts } = await until(id, ({ counts: { pending } }) => pending === 0);
  assert.deepEqual([state, counts.succeeded, counts.skipped, counts.failed], ['IMPORT_STATE_SUCCEEDED', 5, 2, 0]);
  const { rows } = await api.deps.pool.query(
    'select id, user_name, email, password_hash is null as none from users where import_id = $1 order by id',
    [id],
  );
  assert.deepEqual(
    rows.map((row) => Object.values(row)),
    [
      ['fd-1', 'one@acme.example', 'one@acme.example', false],
      ['fd-2', 'two', 'two@acme.example', false],
      ['fd-3', 'three', 'three@acme.example', true],
      ['fd-4', 'four', 'four@acme.example', true],
      ['fd-5', 'five', 'five@acme.example', false],
    ],
  );
  for (const secret of [BCRYPT.slice(7), BAD_HASH.slice(7)]) assert.ok(!answered.includes(secret), 'no hash is shown');
});

test('an entry whose name another has is no better by its address; a draft of which nothing is left ends at once', async () => {
  const id = await draftOf('userId,userName,email\nfe-1,same,a@acme.example\nfe-2,same,no address\n');
  await check(id);
  const moved = { userName: 'Same', email: { email: 'b@acme.example' } };
  assert.equal(errorId(await call('PATCH', `${id}/items/1`, { user: moved })), 'IMPORT-USER-INVALID', 'a typed name');
  const alone = await call('PATCH', `${id}/items/1`, { user: { email: moved.email } });
  assert.equal(errorId(alone), 'IMPORT-USER-INVALID', 'the import would refuse the name, which the entry has already');
  const renamed = { userName: 'other', email: moved.email };
  assert.equal((await call('PATCH', `${id}/items/1`, { user: renamed })).status, 200);
  const { counts } = (await check(id)).draft.check;
  assert.deepEqual([counts.succeeded, counts.failed], [2, 0]);

  const none = await draftOf('userId,userName,email\nff-1,gone,no address\n');
  await check(none);
  const only = (await causesOf(none)).causes[0].cause;
  assert.equal((await call('POST', `${none}/_fix`, { cause: only, remedy: 'leave-out' })).body.changed, 1);
  const started = await call('POST', `${none}/_start`, { timeout: '10m' });
  assert.deepEqual([started.body.state, started.body.counts.skipped], ['IMPORT_STATE_SUCCEEDED', 1]);
});

test('entries are corrected by nobody while the draft is checked again or has another check', async () => {
  const id = await draftOf('userId,userName,email\nfg-1,a,no address\n');
  await check(id);
  const { token } = await api.machine((await api.setupOrg()).orgId);
  const foreign = await api.call('GET', `/admin/v1/imports/${id}/causes`, undefined, { token });
  assert.equal(foreign.status, 403);
  assert.equal((await call('POST', `${id}/_check`, {})).status, 200);
  const patched = await call('PATCH', `${id}/items/0`, { user: { email: { email: 'a@acme.example' } } });
  assert.deepEqual([patched.status, errorId(patched)], [400, 'IMPORT-STATE']);
  await work();
  await until(id, ({ state }) => state === 'IMPORT_STATE_CHECKED');
  const missing = await call('PATCH', `${id}/items/7`, { user: { userName: 'b' } });
  assert.deepEqual([missing.status, errorId(missing)], [404, 'IMPORT-ITEM-NOT-FOUND']);
  assert.equal((await call('GET', `${id}/items/0`)).body.error.details[0].id, 'IMPORT-USER-INVALID');
});

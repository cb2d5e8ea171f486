/** What is offered for failed users of a draft: remedies that help, with how many, and who has a name already. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { startDispatcher } from '../../../workers/dispatcher.ts';
import { startImportWorker } from '../../../workers/import-users.ts';
import { type Answer, startApi, type TestApi } from '../../support/api.ts';
import { newDraft, uploadFile } from '../../support/imports/drafts.ts';
import { waitFor } from '../../support/wait.ts';

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

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  api.call(method, `/admin/v1/imports/${path}`, body);
const work = async () => assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);

async function check(id: string): Promise<Answer['body']> {
  assert.equal((await call('POST', `${id}/_check`, {})).status, 200);
  await work();
  const checked = await waitFor(
    async () => {
      const { body } = await call('GET', id);
      return body.state === 'IMPORT_STATE_CHECKED' ? body : undefined;
    },
    { what: 'the check' },
  );
  return checked.draft.check.counts;
}

async function checkedDraft(rows: readonly string[]): Promise<string> {
  const id = await newDraft(api, { orgId });
  await uploadFile(api, id, ['userId,userName,email', ...rows, ''].join('\n'));
  assert.equal((await call('POST', `${id}/_convert`, { source: 'csv' })).status, 200);
  await work();
  await check(id);
  return id;
}

async function causes(id: string): Promise<Answer['body'][]> {
  return (await call('GET', `${id}/causes`)).body.causes;
}
const fix = async (id: string, body: unknown) => (await call('POST', `${id}/_fix`, body)).body;
const named = (id: string, index: number, user: unknown) => call('PATCH', `${id}/items/${index}`, { user });
const violation = ({ status, body }: Answer) => [status, body.details[1]?.fieldViolations[0]];

test('the user name from the address is offered for duplicates only where it is free, and the next check agrees', async () => {
  const id = await checkedDraft([
    'h-1,ann,ann@acme.example',
    'h-2,ann,ANN@acme.example', // the address is free as a user name
    'h-3,ann,ann@Acme.example', // and then it is not
    'h-4,Bob@acme.example,bob@acme.example',
    'h-5,bob@acme.example,Bob@Acme.example', // the address is the name that is taken
    'h-6,carl@acme.example,carl@acme.example',
    'h-7,ann,carl@acme.example', // the address is the name of another
  ]);
  const [cause, ...others] = await causes(id);
  assert.deepEqual(others, []);
  assert.deepEqual([cause.id, cause.count, cause.examined], ['USER-NAME-TAKEN', 4, 4]);
  assert.deepEqual(cause.remedies, ['email-as-user-name', 'keep-first', 'leave-out']);
  assert.deepEqual(cause.fixes, [{ remedy: 'email-as-user-name', users: 1 }]);
  assert.deepEqual(
    cause.first.map((one: Answer['body']) => [one.index, one.earlier]),
    [
      [1, 0],
      [2, 0],
      [4, 3],
      [6, 0],
    ],
  );
  assert.equal((await call('GET', `${id}/items/4`)).body.earlier, 3);
  const body = { cause: cause.cause, remedy: 'email-as-user-name' };
  assert.deepEqual((await fix(id, { ...body, dryRun: true })).changed, 1);
  assert.deepEqual(await fix(id, body), { changed: 1, unchanged: 3, next: null });
  const counts = await check(id);
  assert.deepEqual([counts.failed, counts.succeeded], [3, 4], 'what was promised');
  const [left] = await causes(id);
  assert.deepEqual([left.count, left.remedies, left.fixes], [3, ['keep-first', 'leave-out'], []]);
});

test('trimming is offered only where something is to be trimmed', async () => {
  const id = await checkedDraft(['t-1,one,not an address', 't-2,two,nor this']);
  const [none] = await causes(id);
  assert.deepEqual(none.remedies, ['user-name-as-email', 'leave-out']);
  assert.deepEqual(none.fixes, [{ remedy: 'user-name-as-email', users: 2 }]);
  const more = await checkedDraft(['t-3,three,not an address', 't-4,four,<Four@acme.example>']);
  const [some] = await causes(more);
  assert.deepEqual(some.fixes, [
    { remedy: 'trim-email', users: 1 },
    { remedy: 'user-name-as-email', users: 2 },
  ]);
  assert.deepEqual(some.remedies, ['trim-email', 'user-name-as-email', 'leave-out']);
});

test('an address is no correction of a user whose id or name another row has, and the row of the id is named', async () => {
  const id = await checkedDraft([
    'd-1,d-one,d.one@acme.example',
    'd-2,d-two,d.two@acme.example',
    'd-2,d-three,not an address',
    'd-4,d-one,not an address',
    'd-2,d-one,d.five@acme.example',
  ]);
  assert.deepEqual(violation(await named(id, 2, { email: { email: 'd.three@acme.example' } })), [
    400,
    { field: 'userId', description: 'is also the user id of no. 2 of this import' },
  ]);
  assert.deepEqual(violation(await named(id, 3, { email: { email: 'd.four@acme.example' } })), [
    400,
    { field: 'user.userName', description: 'is also the user name of no. 1 of this import' },
  ]);
  const both = { userName: 'd-four', email: { email: 'd.four@acme.example' } };
  assert.equal((await named(id, 3, both)).status, 200);
  const { body } = await call('GET', `${id}/items/4`);
  assert.deepEqual([body.error.details[0].id, body.earlier], ['USER-ID-TAKEN', 1], 'not the row of the name');
});

test('a name that is typed is refused if another row or a user has it, and an address as the import refuses it', async () => {
  const { status } = await api.call('POST', '/v2beta/users/human', {
    username: 'present',
    organization: { orgId },
    profile: { givenName: 'Pre', familyName: 'Sent' },
    email: { email: 'present@acme.example', isVerified: true },
  });
  assert.equal(status, 200);
  const id = await checkedDraft([
    'n-1,present,first@acme.example',
    'n-2,other,other@acme.example',
    'n-3,other,third@acme.example',
    'n-4,four,not an address',
  ]);
  assert.deepEqual(violation(await named(id, 2, { userName: 'Other' })), [
    400,
    { field: 'user.userName', description: 'is also the user name of no. 2 of this import' },
  ]);
  assert.deepEqual(violation(await named(id, 0, { userName: 'PRESENT' })), [
    400,
    { field: 'user.userName', description: 'is the user name of a user of the organization' },
  ]);
  assert.deepEqual(violation(await named(id, 3, { email: { email: 'ann@' } }))[0], 400);
  assert.equal((await named(id, 2, { userName: 'third' })).status, 200);
  assert.equal((await named(id, 0, { userName: 'first' })).status, 200);
  assert.equal((await named(id, 3, { email: { email: 'four@acme.example' } })).status, 200);
  assert.deepEqual(violation(await named(id, 3, { userName: 'Third' }))[0], 400, 'row 3 has it now');
  assert.equal((await check(id)).failed, 0, 'each good cell was good');
});

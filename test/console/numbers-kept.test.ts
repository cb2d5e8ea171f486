/** What a page says that an action does is what it does: users who are sent again, and users whom an undo removes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startUndoer } from '../../workers/rescuer.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { waitFor } from '../support/wait.ts';
import { type Visitor, visitor } from './visitor.ts';

let api: TestApi;
let org: SetUp;
let person: Visitor;
let importId: string;
let workers: { stop(): Promise<unknown> }[] = [];
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  person = await visitor(api, api.token);
  await api.call('POST', '/v2beta/users/human', {
    username: 'taken',
    organization: { orgId: org.orgId },
    profile: { givenName: 'Tina', familyName: 'Taken' },
    email: { email: 'taken@kept.example', isVerified: true },
  });
  start();
  const users = [
    ...['a', 'b', 'c'].map((name) => entry(name, { email: { email: `${name}@kept.example` } })),
    entry('d', { userName: 'taken' }),
    entry('e', { userName: 'TAKEN' }),
    ...['f', 'g', 'h'].map((name) => entry(name, { email: { email: 'no address' } })),
  ];
  const { body } = await api.call('POST', '/admin/v1/import', bulk(org.orgId, users));
  importId = body.importId;
  await until('COMPLETED_WITH_ERRORS');
});
after(async () => {
  await stop();
  await api.stop();
});

function start(): void {
  workers = [startImportWorker(api.deps), startDispatcher(api.deps), startUndoer(api.deps)];
}
async function stop(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
}
const read = async () => (await api.call('GET', `/admin/v1/imports/${importId}`)).body;
const until = (state: string) =>
  waitFor(
    async () => {
      const now = await read();
      return now.state === `IMPORT_STATE_${state}` ? now : undefined;
    },
    { what: state },
  );
const page = async (path: string) => {
  const { status, text } = await person.get(`/console/imports/${importId}${path}`);
  assert.equal(status, 200, path);
  return text;
};
/** The page after an action: what is said once is kept by the browser. */
async function pageAfter(action: string): Promise<string> {
  const { headers } = await person.get(`/console/imports/${importId}?done=${action}`);
  const said = headers.getSetCookie().map((set) => set.split(';')[0]);
  return (await person.get(`/console/imports/${importId}`, [person.cookie, ...said].join('; '))).text;
}
/** Presses the button of an action. */
async function press(action: string, typed: Record<string, string>): Promise<void> {
  const [, form = ''] = /<form method="post"[^>]*>(.*?)<\/form>/s.exec(await page(`/${action}`)) ?? [];
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
  const { status } = await person.post(`/console/imports/${importId}/${action}`, { ...fields, ...typed });
  assert.equal(status, 303);
}

test('the button that sends users again, its page and the import agree on their number', async () => {
  assert.deepEqual((await read()).counts.failed, 5);
  for (const index of [5, 6]) {
    const email = { email: `fixed-${index}@kept.example` };
    assert.equal(
      (await api.call('PATCH', `/admin/v1/imports/${importId}/items/${index}`, { user: { email } })).status,
      200,
    );
  }
  // Two were corrected, and two failed for their name when they were written.
  assert.match(await page('/fix'), /2 corrected.*Send 4 again/s);
  const retry = await page('/retry');
  assert.match(retry, /2 users that were corrected are sent again\./);
  assert.match(retry, /2 users that failed when they were written are sent again\./);
  assert.match(retry, /1 user that is invalid stays failed until corrected\./);
  await stop();
  await press('retry', { timeout: '10m' });
  const { counts } = await read();
  assert.deepEqual([counts.pending, counts.failed], [4, 1], 'what is sent again');
  start();
  const ended = await until('COMPLETED_WITH_ERRORS');
  assert.deepEqual([ended.counts.succeeded, ended.counts.failed], [5, 3]);
  assert.match(await pageAfter('retry'), /The failed users were sent again, and the import has ended\./);
});

test('an undo says how many mails went out and how many users go, and at its end that it has ended', async () => {
  await api.deps.pool.query('update imports set mails_sent = 3, mails_due = greatest(mails_due, 3) where id = $1', [
    importId,
  ]);
  const { mails } = await read();
  const undo = await page('/undo');
  assert.match(undo, new RegExp(`${mails.sent} mails? went out already`));
  assert.match(undo, /5 users are deleted\./);
  await press('undo', { number: importId });
  const undone = await until('UNDONE');
  assert.equal(undone.counts.undone, 5);
  assert.match(await pageAfter('undo'), /The undo has ended: 5 users were removed\./);
});

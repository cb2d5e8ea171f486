/** What the steps of a new import ask for and send, without a browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { checkStep } from '../../src/console/new-import/check.ts';
import { planOf } from '../../src/console/new-import/plan.ts';
import type { Draft } from '../../src/console/shapes.ts';
import type { ErrorId } from '../../src/platform/errors.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { entry } from '../support/imports/imports.ts';
import { type Visitor, visitor } from './visitor.ts';

const CHECK_FRAME = {
  consoleUrl: (path: string) => `/console${path}`,
  ...{ importId: '7', step: 'check' as const, files: [], isOpen: true, query: '' },
};

/** The step Check of a draft, before anybody has done anything there. */
function checkOf(state: string, more: object = {}): string {
  const draft = { files: [{ fileId: 'f', name: 'a.csv', kind: 'users', size: 1, offset: 1 }], orgId: '' };
  const result = { state: `IMPORT_STATE_${state}`, draft, counts: { total: 1 }, ...more } as unknown as Draft;
  return checkStep(CHECK_FRAME, { result, plan: planOf({}, result.draft), liveHref: '', problem: undefined }).markup;
}

describe('a step of a new import', () => {
  let api: TestApi;
  let own: SetUp;
  let admin: Visitor;

  before(async () => {
    api = await startApi();
    own = await api.setupOrg();
    admin = await visitor(api, api.token);
  });
  after(() => api.stop());

  it('asks for an organization before the files are read, if they name none', async () => {
    const importId = await newDraft(api);
    await uploadFile(api, importId, 'id,email\n1,ann@steps.example\n');
    const options = `/console/imports/new/${importId}/options?source=csv`;
    const { text } = await admin.get(options);
    assert.match(
      text,
      /<option value="" selected>Choose an organization<.*The files name no organization, so all users/s,
    );
    assert.doesNotMatch(text, /As the files say/);
    const form = { existing: 'fail', mails: 'none', timeout: '1h' };
    const none = await admin.post(options, { ...form, org: '' });
    assert.equal(none.status, 400);
    assert.match(none.text, /Choose an organization, or give the name of a new one: the files name none\./);
    assert.equal((await admin.post(options, { ...form, org: own.orgId })).status, 303);

    const named = await newDraft(api);
    await uploadFile(api, named, `id,email,orgId\n1,bob@steps.example,${own.orgId}\n`);
    const other = `/console/imports/new/${named}/options?source=csv`;
    assert.match((await admin.get(other)).text, /<option value="" selected>As the files say</);
    assert.equal((await admin.post(other, { ...form, org: '' })).status, 303);
  });

  it('checks for as long as a check may take, however short the import may be', async () => {
    const { importId } = (await api.call('POST', '/admin/v1/import?draft=true', bulk(own.orgId, [entry('eve')]))).body;
    const check = async (timeout: string) => {
      const path = `/console/imports/new/${importId}/check?timeout=${timeout}`;
      const { status, headers } = await admin.post(path);
      assert.equal(status, 303);
      // The limit of the import stays what was chosen.
      if (timeout !== '1h') assert.match(String(headers.get('location')), new RegExp(`timeout=${timeout}`));
      const { draft } = (await api.call('GET', `/admin/v1/imports/${importId}`)).body;
      await api.deps.pool.query(`update imports set state = 'draft' where id = $1`, [importId]);
      return draft.settings.timeout;
    };
    assert.equal(await check('10ms'), '1h');
    assert.equal(await check('2h'), '2h');
  });

  it('offers the options, and not the same check again, where users name no organization', () => {
    const draft = {
      files: [{ fileId: 'f', name: 'a.csv', kind: 'users', size: 1, offset: 1 }],
      orgId: '',
      conversion: {},
    };
    const result = { state: 'IMPORT_STATE_DRAFT', draft, counts: { total: 1 } } as unknown as Draft;
    const page = (id: ErrorId) => {
      const problem = { id, message: 'Why not.' };
      return checkStep(CHECK_FRAME, { result, plan: planOf({}, result.draft), liveHref: '', problem }).markup;
    };
    assert.match(page('DRAFT-ORG'), /Some users name no organization\..*class="button" href="[^"]*\/options">/s);
    assert.doesNotMatch(page('DRAFT-ORG'), /<form/);
    assert.match(page('ORG-LIMIT-USERS'), /Why not\..*<form/s);
  });

  it('does not say that work is done that nobody does', () => {
    for (const [state, work] of [
      ['CONVERTING', /The files are being read/],
      ['CHECKING', /Every user is compared/],
    ] as const) {
      assert.match(checkOf(state), work);
      const stuck = checkOf(state, { missingRoles: ['convert'] });
      assert.match(stuck, /This draft waits: no worker with the role convert is running/);
      assert.doesNotMatch(stuck, work);
    }
  });

  it('leads to the files while no file has users', async () => {
    const none = checkOf('UPLOADING', { draft: { files: [], orgId: '' } });
    assert.match(none, /There is no file of users yet\..*<a class="button" href="[^"]*\/7\/files">Add files</s);
    const importId = await newDraft(api);
    const { text } = await admin.get(`/console/imports/new/${importId}/source`);
    assert.match(text, new RegExp(`<a class="step" href="[^"]*/${importId}/files[^"]*"><span>Files`));
    assert.match(text, /<li class="locked"><span class="step"><span>Columns/);
    assert.match((await admin.get(`/console/imports/new/${importId}/check`)).text, /class="state still">Draft</);
  });

  it('has nothing to do for columns that the source names itself', async () => {
    const importId = await newDraft(api);
    await uploadFile(api, importId, '{"user_id":"auth0|1","email":"ann@steps.example"}\n');
    const options = async (source: string) =>
      (await admin.get(`/console/imports/new/${importId}/options?source=${source}`)).text;
    const done = /<li class="done"><a class="step"[^>]*><span>Columns/;
    assert.match(await options('auth0'), done);
    assert.doesNotMatch(await options('csv'), done);
  });
});

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
    const frame = {
      consoleUrl: (path: string) => `/console${path}`,
      ...{ importId: '7', step: 'check' as const, files: [], isOpen: true, query: '' },
    };
    const page = (id: ErrorId) => {
      const problem = { id, message: 'Why not.' };
      return checkStep(frame, { result, plan: planOf({}, result.draft), liveHref: '', problem }).markup;
    };
    assert.match(page('DRAFT-ORG'), /Some users name no organization\..*class="button" href="[^"]*\/options">/s);
    assert.doesNotMatch(page('DRAFT-ORG'), /<form/);
    assert.match(page('ORG-LIMIT-USERS'), /Why not\..*<form/s);
  });
});

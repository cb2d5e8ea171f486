/** The same file again: which earlier imports of it a caller learns of. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newDraft, uploadFile } from '../../support/imports/drafts.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const at = (importId: string, rest = '') => `/admin/v1/imports/${importId}${rest}`;
const fileOf = (name: string) => `id,email,first_name,last_name\n1,${name}@example.com,Ann,Arbor\n`;

/** A draft whose file was read. */
async function converted(orgId: string, content: string, name = 'people.csv'): Promise<string> {
  const importId = await newDraft(api, { orgId });
  await uploadFile(api, importId, content, { name });
  await convert(importId, orgId);
  return importId;
}

async function convert(importId: string, orgId: string): Promise<void> {
  const asked = await api.call('POST', at(importId, '/_convert'), { source: 'csv', orgId });
  assert.equal(asked.status, 200, JSON.stringify(asked.body));
  assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
  assert.equal((await api.call('GET', at(importId))).body.state, 'IMPORT_STATE_DRAFT');
}

async function started(orgId: string, content: string): Promise<string> {
  const importId = await converted(orgId, content);
  const answer = await api.call('POST', at(importId, '/_start'), { timeout: '10m' });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return importId;
}

async function earlier(
  importId: string,
  token?: string,
): Promise<{ importId: string; fileName: string; orgIds: string[] }[]> {
  const answer = await api.call('GET', at(importId, '/earlier'), undefined, token ? { token } : {});
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.imports;
}

const ids = async (importId: string, token?: string) => (await earlier(importId, token)).map((one) => one.importId);

test('a file with the same bytes is recognized by any name, newest import first; another file is not', async () => {
  const { orgId } = await api.setupOrg();
  const [first, second] = [await started(orgId, fileOf('ann')), await started(orgId, fileOf('ann'))];
  const again = await converted(orgId, fileOf('ann'), 'renamed.csv');
  const found = await earlier(again);
  assert.deepEqual(
    found.map((one) => [one.importId, one.fileName, one.orgIds]),
    [
      [second, 'renamed.csv', [orgId]],
      [first, 'renamed.csv', [orgId]],
    ],
  );
  assert.deepEqual(await ids(await converted(orgId, fileOf('bea'))), []);
  await api.deps.pool.query(`update imports set state = 'undone' where id = $1`, [second]);
  assert.deepEqual(await ids(again), [first], 'the users of an import that was undone are gone');
});

test('the hash is taken while the file is read, not by reading it once more', async (t) => {
  const { orgId } = await api.setupOrg();
  const importId = await newDraft(api, { orgId });
  await uploadFile(api, importId, fileOf('finn'));
  const query = t.mock.method(api.deps.pool, 'query');
  const pieces = () =>
    query.mock.calls.filter(({ arguments: [one] }) => (one as unknown as { name?: string }).name === 'read-piece')
      .length;
  await convert(importId, orgId);
  const first = pieces();
  await convert(importId, orgId);
  assert.equal(pieces() - first, first, 'as often as when the hash is known');
});

test('a file that was removed from the draft does not count any more', async () => {
  const { orgId } = await api.setupOrg();
  await started(orgId, fileOf('cleo'));
  const importId = await newDraft(api, { orgId });
  const path = await uploadFile(api, importId, fileOf('cleo'));
  await convert(importId, orgId);
  assert.equal((await ids(importId)).length, 1);
  await api.call('DELETE', path, undefined, { headers: { 'tus-resumable': '1.0.0' } });
  await uploadFile(api, importId, fileOf('dora'));
  await convert(importId, orgId);
  assert.deepEqual(await ids(importId), []);
});

test('a caller learns only of imports that they may see', async () => {
  const [own, other] = [await api.setupOrg(), await api.setupOrg()];
  const elsewhere = await started(other.orgId, fileOf('eve'));
  const here = await started(own.orgId, fileOf('eve'));
  const again = await converted(own.orgId, fileOf('eve'));
  const { token } = await api.machine(own.orgId, ['ORG_OWNER']);
  assert.deepEqual(await ids(again, token), [here]);
  assert.deepEqual((await ids(again)).sort(), [elsewhere, here].sort());
});

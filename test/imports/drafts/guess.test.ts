/** Guesses run in threads: what a hostile file costs ends after a time, and keeps nothing else waiting. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import iconv from 'iconv-lite';
import { readDraft } from '../../../src/imports/drafts/draft.ts';
import { guessDraft } from '../../../src/imports/drafts/guess-pool.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newDraft, uploadFile } from '../../support/imports/drafts.ts';
import { HASH } from '../../support/imports/imports.ts';
import { textRows, workbookOf } from '../../support/workbook.ts';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const guess = (id: string, query = '') => api.call('GET', `/admin/v1/imports/${id}/guess${query}`);

async function draftWith(...files: (string | Buffer)[]) {
  const id = await newDraft(api, { orgId });
  for (const bytes of files) await uploadFile(api, id, bytes);
  const draft = await readDraft(api.deps.pool, id);
  assert.ok(draft);
  return { id, draft };
}

const deps = () => ({ pool: api.deps.pool, secrets: api.deps.secrets, most: 2 ** 30 });
const PEOPLE = 'id,email\n1,a@example.com\n';

test('a guess that takes too long ends with the reason, and the next one is made', async () => {
  const { draft } = await draftWith(`{"a":[${'{},'.repeat(2_500_000)}{}]}\n{}\n`);
  // A timer ends it, so this thread is free while the file is parsed.
  await assert.rejects(guessDraft(deps(), draft, { longestMs: 1 }), {
    name: 'UsageError',
    message: /^The beginning of the files takes too much time or memory to be recognized\. Choose the source/,
  });
  const { id } = await draftWith(PEOPLE);
  assert.equal((await guess(id)).body.source, 'csv');
});

test('rows with more cells than a sheet are told by the guess', async () => {
  const { id } = await draftWith(`${','.repeat(200_000)}\n${','.repeat(200_000)}\n`);
  const { status, body } = await guess(id);
  assert.deepEqual([status, body.source], [200, '']);
  assert.equal(
    body.files[0].problem,
    'people.csv, line 1: The file is not valid CSV: a row has more than 16384 cells.',
  );
});

test('a file that is removed meanwhile ends the guess as it ends other requests', async () => {
  const { id, draft } = await draftWith(PEOPLE);
  await api.deps.pool.query('delete from import_chunks where import_id = $1', [id]);
  await assert.rejects(guessDraft(deps(), draft), { name: 'ApiError', message: 'The file does not exist.' });
});

test('of many files each is read from its beginning, and the mapping is that of the first file of users', async () => {
  const { id } = await draftWith(PEOPLE, `${PEOPLE}${'2,b@example.com\n'.repeat(100_000)}`, 'Mail\nc@example.com\n');
  const { body } = await guess(id);
  assert.deepEqual(body.mapping, { userId: 'id', email: 'email' });
  assert.deepEqual(
    body.files.map(({ columns }: { columns: { name: string; becomes: string }[] }) => columns.map((one) => one.name)),
    [['id', 'email'], ['id', 'email'], ['Mail']],
  );
});

test('a guess reads the files in the encoding that it is given, also where the recognized one is wrong', async () => {
  const { id } = await draftWith(iconv.encode('id,email,姓\n1,a@example.com,山田\n', 'shift_jis'));
  const [file] = (await guess(id)).body.files;
  assert.deepEqual([file.encoding, file.alsoFits], ['euc-kr', ['shift_jis']]);
  const { files } = (await guess(id, '?encoding=shift_jis')).body;
  assert.deepEqual([files[0].encoding, files[0].alsoFits, files[0].doubtful], ['shift_jis', undefined, 0]);
  assert.deepEqual(files[0].columns[2], { name: '姓', samples: [{ text: '山田' }], becomes: '' });
  assert.ok((await guess(id, '?encoding=utf-8')).body.files[0].doubtful > 0.5);
  const refused = await guess(id, '?encoding=klingon');
  assert.deepEqual([refused.status, refused.body.details[0].id], [400, 'IMPORT-QUERY']);
  assert.match(refused.body.message, /^The query parameter encoding must be one of utf-8, /);
});

test('a guess says what the columns become as the source that is given, and as a table of one’s own without one', async () => {
  const { id } = await draftWith('Kontakt;Vorname;Nachname\nfay@acme.example;Fay;Fox\n');
  const mapping = { firstName: 'Vorname', lastName: 'Nachname' };
  const { body } = await guess(id);
  assert.deepEqual([body.source, body.candidates, body.mapping], ['', [], mapping]);
  assert.deepEqual(
    body.files[0].columns.map(({ becomes }: { becomes: string }) => becomes),
    ['', 'firstName', 'lastName'],
  );
  assert.deepEqual((await guess(id, '?source=okta')).body.mapping, {});
  const { id: users } = await draftWith(
    '{"user_id":"auth0|1","email":"a@example.com","email_verified":true,"created_at":"2024-01-01T00:00:00Z","identities":[]}\n' +
      '{"user_id":"auth0|2","email":"b@example.com","email_verified":true,"family_name":"Bear","identities":[]}\n',
  );
  assert.deepEqual((await guess(users)).body.mapping, {});
  const own = (await guess(users, '?source=ndjson')).body;
  assert.equal(own.source, 'auth0');
  assert.deepEqual([own.mapping.userId, own.mapping.email, own.mapping.lastName], ['user_id', 'email', 'family_name']);
  const refused = await guess(id, '?source=klingon');
  assert.deepEqual([refused.status, refused.body.details[0].id], [400, 'IMPORT-QUERY']);
});

test('a column of plain passwords is taken only where somebody names it, and one of hashes at once', async () => {
  const mapping = async (cell: string) =>
    (await guess((await draftWith(`id,email,password\n1,a@example.com,${cell}\n`)).id)).body.mapping;
  assert.deepEqual(await mapping('correct horse'), { userId: 'id', email: 'email' });
  assert.deepEqual(await mapping(HASH), { userId: 'id', email: 'email', hash: 'password' });
});

test('a workbook shows its sheets, is read by the one that is named, and only as a whole', async () => {
  const sheets = { Users: textRows(['id', 'email'], ['1', 'a@example.com']), Old: textRows(['Kontakt']) };
  const { id } = await draftWith(workbookOf({ sheets }));
  const [file] = (await guess(id)).body.files;
  assert.deepEqual(
    [file.sheet, file.sheets.map(({ name }: { name: string }) => name), file.columns.length],
    ['Users', ['Users', 'Old'], 2],
  );
  assert.deepEqual((await guess(id, '?sheet=Old')).body.files[0].columns[0]?.name, undefined);
  const wrong = await guess(id, '?sheet=New');
  assert.deepEqual([wrong.status, wrong.body.details[0].id], [400, 'DRAFT-UNREADABLE']);
  assert.match(wrong.body.message, /There is no sheet New\. Its sheets are Users, Old\./);
  const { id: plain } = await draftWith(PEOPLE);
  assert.match((await guess(plain, '?sheet=Old')).body.message, /none of the files is a workbook/);
});

test('a workbook whose first sheet cannot be read shows its other sheets, and is read by one of them', async () => {
  const formula = `${textRows(['id', 'email'])}<row r="2"><c r="B2"><f>A1</f></c></row>`;
  const sheets = { Sum: formula, Users: textRows(['id', 'email'], ['1', 'a@example.com']) };
  const { id } = await draftWith(workbookOf({ sheets }));
  const { status, body } = await guess(id);
  assert.equal(status, 200);
  const [file] = body.files;
  assert.deepEqual([body.source, body.candidates, file.columns], ['', [], []]);
  assert.deepEqual([file.sheet, file.sheets.map(({ name }: { name: string }) => name)], ['Sum', ['Sum', 'Users']]);
  assert.match(file.problem, /B2 holds a formula.* This is about the sheet Sum; the workbook also has Users\./);
  const [other] = (await guess(id, '?sheet=Users')).body.files;
  assert.deepEqual([other.sheet, other.columns.length, other.problem], ['Users', 2, undefined]);
});

test('a guess says whether each of the first users names an organization', async () => {
  const names = async (text: string) => (await guess((await draftWith(text)).id)).body.namesOrganizations;
  assert.equal(await names(PEOPLE), false);
  assert.equal(await names('id,email,org_id\n1,a@example.com,acme\n2,b@example.com,acme\n'), true);
  assert.equal(await names('id,email,org_id\n1,a@example.com,acme\n2,b@example.com,\n'), false);
});

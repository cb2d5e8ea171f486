/** The same users, sent in a body and converted from a file, become the same entries. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { readDraft } from '../../../src/imports/drafts/draft.ts';
import { COLUMNS } from '../../../src/imports/entries/item.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newDraft, uploadFile } from '../../support/imports/drafts.ts';

const BCRYPT = '$2b$04$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC';
/** Beyond the hashes that are all examined, and none of those that are examined as samples. */
const SLOW_AT = 1005;

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const hashAt = (n: number) =>
  n === SLOW_AT ? BCRYPT.replace('$04$', '$14$') : n % 100 === 7 ? '$2e$nonsense' : BCRYPT;
const users = Array.from({ length: SLOW_AT + 10 }, (_, n) => ({
  userId: `is-${n % 1000}`,
  userName: `name-${n}`,
  email: n % 50 === 3 ? 'nonsense' : `is-${n}@acme.example`,
  hash: hashAt(n),
}));

async function draftOfFile(): Promise<string> {
  const id = await newDraft(api, { orgId });
  const lines = users.map(({ userId, userName, email, hash }) => `${userId},${userName},${email},${hash},Ann,Elm`);
  await uploadFile(api, id, ['userId,userName,email,hash,firstName,lastName', ...lines, ''].join('\n'));
  assert.equal((await api.call('POST', `/admin/v1/imports/${id}/_convert`, { source: 'csv' })).status, 200);
  assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
  return id;
}

/** Sends what the file was converted to, with the marks of its hashes. */
async function draftOfBody(converted: { password_hash: string | null }[]): Promise<string> {
  // Invalid entries keep no hash to read: theirs are marked as the others are.
  const marked = new Map([[BCRYPT, converted[0]?.password_hash]]);
  const lines = users.map(({ userId, userName, email, hash }, n) => {
    const profile = { firstName: 'Ann', lastName: 'Elm' };
    const user = {
      userName,
      profile,
      email: { email, isEmailVerified: false },
      hashedPassword: { value: converted[n]?.password_hash ?? marked.get(hash) ?? hash },
    };
    return JSON.stringify({ orgId, userId, user });
  });
  const answer = await api.call('POST', '/admin/v1/import?draft=true', `${lines.join('\n')}\n`, {
    headers: { 'content-type': 'application/x-ndjson' },
  });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.importId;
}

const rowsOf = async (id: string) => {
  const columns = COLUMNS.filter((column) => column !== 'import_id' && column !== 'entry_sealed');
  const { rows } = await api.deps.pool.query(
    `select ${columns.join(', ')}, entry_sealed is not null as is_sealed from import_items where import_id = $1 order by ordinal`,
    [id],
  );
  return rows;
};

test('users of a file and of a body become the same entries, with the same counts', async () => {
  const file = await draftOfFile();
  const ofFile = await rowsOf(file);
  const body = await draftOfBody(ofFile);
  const ofBody = await rowsOf(body);
  assert.equal(ofFile.length, users.length);
  for (const [n, row] of ofFile.entries()) assert.deepEqual(row, ofBody[n]);
  const [one, other] = [await readDraft(api.deps.pool, file), await readDraft(api.deps.pool, body)];
  const { source: _, title: __, summary: ___, ...found } = { ...one?.result };
  const { source: ____, title: _____, ...sent } = { ...other?.result };
  assert.deepEqual(found, sent);
  assert.deepEqual([found.total, found.failed, found.hasDuplicates], [users.length, 32, true]);
});

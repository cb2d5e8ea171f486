import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { pieces } from '../../../src/imports/drafts/create.ts';
import { eraseDrafts } from '../../../src/imports/drafts/erase.ts';
import { addPiece, openFile, readFile } from '../../../src/imports/drafts/files.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { createFile, newDraft, offsetOf, sendBytes, uploadFile } from '../../support/imports/drafts.ts';
import { waitFor } from '../../support/wait.ts';

const MIB = 2 ** 20;
let api: TestApi;
/** What the API logs as its own fault. */
const faults: string[] = [];
before(async () => {
  const logger = pino({ level: 'error' }, { write: (line) => faults.push(line) });
  api = await startApi({ logger, env: { MAX_IMPORT_BYTES: String(8 * MIB) } });
});
after(() => api.stop());

async function stored(path: string): Promise<Buffer> {
  const [, importId = '', fileId = ''] = /imports\/(\d+)\/files\/(.+)$/.exec(path) ?? [];
  const pieces: Buffer[] = [];
  for await (const piece of readFile(api.deps.pool, await openFile(api.deps, importId, fileId))) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('a draft is created, listed, shown and discarded, and discarding it again has no further effect', async () => {
  const { orgId } = await api.setupOrg();
  const id = await newDraft(api, { orgId });
  const { body } = await api.call('GET', `/admin/v1/imports/${id}`);
  assert.equal(body.state, 'IMPORT_STATE_UPLOADING');
  assert.deepEqual(
    body.orgs.map((org: { orgId: string }) => org.orgId),
    [orgId],
  );
  assert.deepEqual((await api.call('GET', '/admin/v1/imports')).body.imports[0].importId, id);
  for (let times = 0; times < 2; times++) {
    const discarded = await api.call('POST', `/admin/v1/imports/${id}/_discard`, {});
    assert.equal(discarded.body.state, 'IMPORT_STATE_DISCARDED');
  }
  const { imports, counts } = (await api.call('GET', '/admin/v1/imports?counts=true')).body;
  assert(!imports.some(({ importId }: { importId: string }) => importId === id), 'a discarded draft is not listed');
  assert.equal(counts.drafts, imports.filter(({ draft }: { draft?: object }) => draft).length);
  assert.equal((await createFile(api, id, { size: 1 })).status, 400);
});

test('the actions of a running import are refused on a draft', async () => {
  const id = await newDraft(api);
  for (const action of ['_cancel', '_pause', '_resume', '_retry', '_undo', '_send_mails']) {
    const refused = await api.call('POST', `/admin/v1/imports/${id}/${action}`, {});
    assert.deepEqual([refused.status, errorId(refused)], [400, 'IMPORT-STATE'], action);
    assert.match(refused.body.message, /IMPORT_STATE_UPLOADING/);
  }
  assert.equal((await api.call('GET', `/admin/v1/imports/${id}/report`)).status, 400);
});

test('a piece beyond the limit of a caller is refused before it has arrived', { timeout: 60_000 }, async () => {
  const id = await newDraft(api);
  const path = String((await createFile(api, id, { size: 8 * MIB })).headers.get('location'));
  const { details, user } = (await api.call('GET', '/management/v1/me')).body;
  const releases: (() => void)[] = [];
  assert.throws(() => {
    for (;;) releases.push(pieces.take({ userId: user.userId, orgId: details.resourceOwner }));
  });
  const headers = { authorization: `Bearer ${api.token}`, 'tus-resumable': '1.0.0', 'upload-offset': '0' };
  const type = { 'content-type': 'application/offset+octet-stream', 'content-length': 8 * MIB };
  const sent = request(new URL(path, api.url), { method: 'PATCH', headers: { ...headers, ...type } });
  sent.on('error', () => {}); // the rest is not read
  // The body does not come.
  sent.flushHeaders();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  assert.deepEqual([answer.statusCode, answer.headers.connection], [429, 'close']);
  sent.destroy();
  for (const release of releases) release();
  assert.equal((await sendBytes(api, path, 0, Buffer.alloc(8 * MIB))).status, 204);
});

test('an upload continues where it ended, a second request for the same bytes is refused, and pieces are encrypted', async () => {
  const id = await newDraft(api);
  const bytes = Buffer.concat([Buffer.from('id,email\nsecret-word'), randomBytes(3 * MIB)]);
  const path = String((await createFile(api, id, { size: bytes.length })).headers.get('location'));
  assert.equal((await sendBytes(api, path, 0, bytes.subarray(0, 2 * MIB + 5))).status, 204);
  const again = await sendBytes(api, path, 0, bytes.subarray(0, MIB));
  assert.deepEqual([again.status, errorId(again)], [409, 'UPLOAD-OFFSET']);
  assert.equal(await offsetOf(api, path), 2 * MIB + 5);
  assert.equal((await sendBytes(api, path, 2 * MIB + 5, bytes.subarray(2 * MIB + 5))).status, 204);
  assert.ok((await stored(path)).equals(bytes));
  assert.deepEqual(faults, []);
  const { rows } = await api.deps.pool.query<{ bytes: Buffer }>('select bytes from import_chunks');
  assert.ok(rows.every((row) => !row.bytes.includes('secret-word')));
  const [file] = (await api.call('GET', `/admin/v1/imports/${id}`)).body.draft.files;
  assert.deepEqual([file.name, file.kind, file.size, file.offset], ['people.csv', 'users', bytes.length, bytes.length]);
});

test('when a client goes away in the middle, what has arrived stays', async () => {
  const id = await newDraft(api);
  const bytes = randomBytes(4 * MIB);
  const path = String((await createFile(api, id, { size: bytes.length })).headers.get('location'));
  const cut = request(api.url + path, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${api.token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': bytes.length,
    },
  });
  cut.on('error', () => {}); // it is cut off
  cut.write(bytes.subarray(0, 2 * MIB + 1000));
  const seen = () =>
    api.call('GET', `/admin/v1/imports/${id}`).then(({ body }) => body.draft.files[0].offset as number);
  await waitFor(async () => (await seen()) >= 2 * MIB, { what: 'two pieces' });
  cut.destroy();
  const left = async () => {
    const from = await offsetOf(api, path);
    return (await sendBytes(api, path, from, bytes.subarray(from))).status === 204;
  };
  await waitFor(left, { what: 'the rest of the file' });
  assert.ok((await stored(path)).equals(bytes));
});

test('files are bounded in size and number, and their metadata is checked', async () => {
  const id = await newDraft(api);
  assert.equal((await createFile(api, id, { size: 9 * MIB })).status, 413);
  await uploadFile(api, id, Buffer.alloc(5 * MIB));
  const second = await createFile(api, id, { size: 4 * MIB });
  assert.deepEqual([second.status, errorId(second)], [413, 'REQUEST-TOO-LARGE']);
  const kind = await createFile(api, id, { size: 1, kind: 'cats' });
  assert.deepEqual([kind.status, errorId(kind)], [400, 'UPLOAD-METADATA']);
  assert.equal((await createFile(api, id, { size: 2 * MIB, kind: 'hash_parameters' })).status, 413);
  for (let n = 1; n < 20; n++) assert.equal((await createFile(api, id, { size: 1, kind: 'hashes' })).status, 201);
  assert.equal(errorId(await createFile(api, id, { size: 1 })), 'UPLOAD-FILES');
  await api.call('POST', `/admin/v1/imports/${id}/_discard`, {});
});

test('a file is removed, and unknown files and wrong offsets have errors of their own', async () => {
  const id = await newDraft(api);
  const path = await uploadFile(api, id, 'id\n1\n');
  assert.equal((await sendBytes(api, path, 5, Buffer.from('more'))).status, 413);
  assert.equal((await api.call('DELETE', path)).status, 204);
  assert.equal((await sendBytes(api, path, 0, Buffer.from('id'))).status, 404);
  const odd = await api.call('POST', `/admin/v1/imports/${id}/files`, undefined, {
    headers: { 'upload-length': '-1' },
  });
  assert.deepEqual([odd.status, errorId(odd)], [400, 'UPLOAD-HEADERS']);
});

test('a draft that is discarded takes no more bytes, wherever they begin, and says so', async () => {
  const id = await newDraft(api);
  const path = String((await createFile(api, id, { size: 8 })).headers.get('location'));
  assert.equal((await sendBytes(api, path, 0, Buffer.from('id\n'))).status, 204);
  const file = await openFile(api.deps, id, path.split('/').at(-1) as string);
  const piece = file.key.sealer(Buffer.alloc(100), 3);
  piece.add(Buffer.from('1\n'));
  await api.call('POST', `/admin/v1/imports/${id}/_discard`, {});
  for (const offset of [3, 5]) {
    const sent = await sendBytes(api, path, offset, Buffer.from('1\n'));
    assert.deepEqual([sent.status, errorId(sent)], [400, 'IMPORT-STATE']);
  }
  await assert.rejects(addPiece(api.deps.pool, file, piece), { id: 'IMPORT-STATE' });
  const open = await newDraft(api);
  const other = String((await createFile(api, open, { size: 8 })).headers.get('location'));
  const elsewhere = await sendBytes(api, other, 3, Buffer.from('1\n'));
  assert.deepEqual([elsewhere.status, errorId(elsewhere)], [409, 'UPLOAD-OFFSET']);
});

test('only its creator, and those who may import into all of its organizations, see a draft', async () => {
  const { orgId } = await api.setupOrg();
  const { orgId: other } = await api.setupOrg();
  const [ann, bob, eve] = await Promise.all([
    api.machine(orgId, ['ORG_OWNER']),
    api.machine(orgId, ['ORG_OWNER']),
    api.machine(other, ['ORG_OWNER']),
  ]);
  const own = await newDraft(api, {}, ann);
  const shared = await newDraft(api, { orgId }, ann);
  const see = async (who: { token: string }) => {
    const list = (await api.call('GET', '/admin/v1/imports', undefined, who)).body.imports;
    const ids = list.map((one: { importId: string }) => one.importId);
    const statuses: number[] = [];
    for (const id of [own, shared])
      statuses.push((await api.call('GET', `/admin/v1/imports/${id}`, undefined, who)).status);
    return [ids.includes(own), ids.includes(shared), ...statuses];
  };
  assert.deepEqual(await see(ann), [true, true, 200, 200]);
  assert.deepEqual(await see(bob), [false, true, 403, 200]);
  assert.deepEqual(await see(eve), [false, false, 403, 403]);
  assert.equal((await createFile(api, own, { size: 1 }, eve)).status, 403);
  assert.equal((await api.call('POST', '/admin/v1/imports', { orgId }, eve)).status, 403);
});

test('a request reaches only the draft of its path, however that is spelled and whatever its query names', async () => {
  const [ann, eve] = await Promise.all(
    [await api.setupOrg(), await api.setupOrg()].map(({ orgId }) => api.machine(orgId, ['ORG_OWNER'])),
  );
  const [theirs, own] = [await newDraft(api, {}, ann), await newDraft(api, {}, eve)];
  const path = await uploadFile(api, theirs, 'id\n1\n', {}, ann);
  for (const spelled of [`/admin/v1/imports/%3${own[0]}${own.slice(1)}`, `/admin/v1/IMPORTS/${own}`]) {
    const added = await api.call('POST', `${spelled}/files?x=/imports/${theirs}/files`, undefined, {
      ...eve,
      headers: { 'upload-length': '1' },
    });
    assert.equal(added.status, 201);
    assert.match(String(added.headers.get('location')), new RegExp(`^/admin/v1/imports/${own}/files/`));
    const removed = await api.call('DELETE', `${spelled}/files/none?x=${path}`, undefined, eve);
    assert.deepEqual([removed.status, errorId(removed)], [404, 'UPLOAD-NOT-FOUND']);
  }
  for (const fileId of ['%00', '..%2f..', `${'x'.repeat(65)}`])
    assert.equal((await api.call('DELETE', `/admin/v1/imports/${own}/files/${fileId}`, undefined, eve)).status, 404);
  const { draft } = (await api.call('GET', `/admin/v1/imports/${theirs}`, undefined, ann)).body;
  assert.equal(draft.files.length, 1);
});

test('the files of an organization are bounded together, also by those of discarded drafts that are not erased yet', async () => {
  const { orgId } = await api.setupOrg();
  const who = await api.machine(orgId, ['ORG_OWNER']);
  const drafts = await Promise.all(Array.from({ length: 5 }, () => newDraft(api, {}, who)));
  const add = (id: string) => createFile(api, id, { size: 8 * MIB }, who);
  const statuses = (await Promise.all(drafts.map(add))).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), [201, 201, 201, 201, 429]);
  const [waits = ''] = drafts.splice(statuses.indexOf(429), 1);
  await api.call('POST', `/admin/v1/imports/${drafts[0]}/_discard`, {}, who);
  assert.equal(errorId(await add(waits)), 'UPLOAD-SPACE');
  while (await eraseDrafts(api.deps.pool));
  assert.equal((await add(waits)).status, 201);
});

test('a caller may have twenty drafts', async () => {
  const { orgId } = await api.setupOrg();
  const who = await api.machine(orgId, ['ORG_OWNER']);
  for (let n = 0; n < 20; n++) await newDraft(api, {}, who);
  const refused = await api.call('POST', '/admin/v1/imports', {}, who);
  assert.deepEqual([refused.status, errorId(refused)], [429, 'IMPORT-DRAFTS']);
});

test('a caller may have twenty drafts, also when they are created at once', async () => {
  const { orgId } = await api.setupOrg();
  const who = await api.machine(orgId, ['ORG_OWNER']);
  for (let n = 0; n < 17; n++) await newDraft(api, {}, who);
  const answers = await Promise.all(Array.from({ length: 10 }, () => api.call('POST', '/admin/v1/imports', {}, who)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 3);
});

test('discarded and expired drafts are erased; others are kept', async () => {
  const { pool } = api.deps;
  const [kept, gone, late] = [await newDraft(api), await newDraft(api), await newDraft(api)];
  for (const id of [kept, gone, late]) await uploadFile(api, id, 'id,email\n1,a@example.com\n');
  await api.call('POST', `/admin/v1/imports/${gone}/_discard`, {});
  await pool.query('update import_preparations set expires_at = now() where import_id = $1', [late]);
  while (await eraseDrafts(pool));
  const { rows } = await pool.query('select import_id as id from import_files where import_id = any($1)', [
    [kept, gone, late],
  ]);
  assert.deepEqual(rows, [{ id: kept }]);
  assert.equal((await api.call('GET', `/admin/v1/imports/${gone}`)).body.state, 'IMPORT_STATE_DISCARDED');
  assert.equal((await api.call('GET', `/admin/v1/imports/${late}`)).status, 404);
  assert.equal((await pool.query('select from imports where id = $1', [late])).rowCount, 0);
});

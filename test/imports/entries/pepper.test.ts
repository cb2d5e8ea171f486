/**
 * Imports whose hashes need a pepper: the modes, the first login, what keeps a pepper and what erases it. The bcrypt and
 * SHA-crypt hashes were made by libxcrypt (`python3 -c "import crypt; crypt.crypt(password + pepper, salt)"`), the HMAC
 * and PBKDF2 by Python's hmac and hashlib.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { specialStores } from '../../../src/imports/run/stores.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { sweepPeppers } from '../../../src/imports/upkeep/retention.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { type Entry, entry, openWriterPool } from '../../support/imports/imports.ts';

const PASSWORD = 'correct horse';
const PEPPER = 'a pepper of the shöp';
const SUFFIX = '$2b$04$abcdefghijklmnopqrstuu.kQv/P7qe9hj9n4VXXGiB6LKdwQKpP.';
/** Devise's peppers have 128 digits, of which bcrypt uses 59 after this password. */
const LONG_PEPPER = '0123456789abcdef'.repeat(8);
const LONG = '$2a$04$abcdefghijklmnopqrstuu1zuUMnfmqP6obykTbdPN5Uk5Bbw8tsu';

const HASHES: [mode: string | undefined, pepper: string, hash: string][] = [
  [undefined, PEPPER, SUFFIX],
  ['suffix', LONG_PEPPER, LONG],
  [
    'prefix',
    PEPPER,
    '$6$saltsalt$y5ia9amVdulVfoe6v94k1DM8h8PpscaH3Mz.68lE.b.EmAS4aZDulN1ikh.H6P82tF0lKQg3nu8RBddKYfjUz/',
  ],
  ['hmac-sha256-hex', PEPPER, '$2b$04$abcdefghijklmnopqrstuuX54sJ8xErdp.mSzuCMdtEV1qpWDtDbS'],
  ['hmac-sha256-base64', PEPPER, 'pbkdf2_sha256$1000$seasalt$Peaw/Fs0lp8nyafvdmAHURc7P267gB6n895irOnAidY='],
];

describe('a pepper of an import', () => {
  let api: TestApi;
  let writer: Pool;
  let org: SetUp;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    org = await api.setupOrg();
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const base64 = (text: string) => Buffer.from(text).toString('base64');
  function send(
    people: unknown[],
    { pepper = PEPPER, mode, query = '' }: { pepper?: string; mode?: string | undefined; query?: string } = {},
  ) {
    const headers = { 'password-pepper': base64(pepper), ...(mode && { 'password-pepper-mode': mode }) };
    return api.call('POST', `/admin/v1/import${query}`, bulk(org.orgId, people), { headers });
  }
  const hashed = (name: string, value = SUFFIX) => entry(name, { hashedPassword: { value } });
  async function imported(people: Entry[], options: Parameters<typeof send>[1] = {}): Promise<string> {
    const answer = await send(people, options);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    const { importId } = answer.body;
    if (!options.query) await writeBatch(writer, importId, [...people.keys()], SETTINGS);
    else await specialStores(writer, SETTINGS).update.write(importId, [...people.keys()]);
    return importId;
  }
  const row = async (name: string) =>
    (await api.deps.pool.query('select * from users where user_name = $1', [name])).rows[0];
  const login = async (loginName: string, password = PASSWORD) =>
    (await api.call('POST', '/v2beta/sessions', { checks: { user: { loginName }, password: { password } } })).status;
  const auditedMode = async (importId: string) => {
    const { rows } = await api.deps.pool.query(
      `select payload from events where aggregate_type = 'import' and aggregate_id = $1 and type = 'import.accepted'`,
      [importId],
    );
    return rows[0].payload.pepper;
  };
  const peppers = async (importId: string) =>
    (await api.deps.pool.query('select * from import_peppers where import_id = $1', [importId])).rows;

  for (const [mode, pepper, hash] of HASHES) {
    it(`verifies a hash with a pepper as ${mode ?? 'the default'} says (${pepper.length} letters), and replaces it`, async () => {
      const name = unique('ann');
      const importId = await imported([hashed(name, hash)], { pepper, mode });
      const [{ sealed }] = await peppers(importId);
      assert.ok(!sealed.includes(base64(pepper)) && !sealed.includes(pepper));
      assert.equal(await login(name, `${PASSWORD}r`), 400);
      // bcrypt cuts off what a longer one would add.
      if (pepper === PEPPER) assert.equal(await login(name, PASSWORD + pepper), 400);
      assert.equal(await login(name), 201);
      const { password_hash } = await row(name);
      assert.match(password_hash, /^\$2[aby]\$/);
      assert.equal(await login(name), 201, 'without the pepper');
      assert.equal((await row(name)).password_hash, password_hash);
    });
  }

  it('leaves plain passwords and users without one alone', async () => {
    const names = [unique('plain'), unique('none')];
    const [plain, none] = names.map((name) => entry(name, { hashedPassword: undefined }));
    const importId = await imported([
      { ...(plain as Entry), user: { ...(plain as Entry).user, password: PASSWORD } },
      none as Entry,
    ]);
    const { rows } = await api.deps.pool.query('select user_name, password_hash from users where user_name = any($1)', [
      names,
    ]);
    assert.ok(rows.every(({ password_hash }) => !password_hash?.startsWith('$pepper$')));
    assert.equal((await peppers(importId)).length, 1);
  });

  it('is in the audit event by its mode only, and a dry run stores none', async () => {
    const importId = await imported([hashed(unique('audited'))], { mode: 'suffix' });
    assert.equal(await auditedMode(importId), 'suffix');
    const dry = await send([hashed(unique('dry'))], { query: '?dryRun=true' });
    assert.equal(dry.status, 202);
    assert.deepEqual(await peppers(dry.body.importId), []);
  });

  it('is refused with its field, and never repeated', async () => {
    const refused = async (headers: Record<string, string>, path = '/admin/v1/import') => {
      const answer = await api.call('POST', path, bulk(org.orgId, [hashed(unique('no'))]), { headers });
      assert.deepEqual([answer.status, errorId(answer)], [400, 'IMPORT-PEPPER']);
      assert.doesNotMatch(JSON.stringify(answer.body), /topsecret|dG9wc2VjcmV0/);
      return badFieldsOf(answer);
    };
    assert.deepEqual(await refused({ 'password-pepper': 'topsecret!' }), ['Password-Pepper']);
    assert.deepEqual(await refused({ 'password-pepper': '/w==' }), ['Password-Pepper'], 'not UTF-8');
    assert.deepEqual(await refused({ 'password-pepper-mode': 'suffix' }), ['Password-Pepper']);
    const topsecret = { 'password-pepper': base64('topsecret') };
    assert.deepEqual(await refused({ ...topsecret, 'password-pepper-mode': 'sha1' }), ['Password-Pepper-Mode']);
    const long = { 'password-pepper': base64('x'.repeat(57)), 'password-pepper-mode': 'prefix' };
    assert.deepEqual(await refused(long), ['Password-Pepper'], 'bcrypt would accept any password after it');

    const marked = await imported([hashed(unique('marked'), `$pepper$1$${SUFFIX}`)]);
    const { rows } = await api.deps.pool.query('select state from import_items where import_id = $1', [marked]);
    assert.deepEqual(rows, [{ state: 'failed' }]);
  });

  it('does not make the same password a new one when the old hash is imported again', async () => {
    const name = unique('again');
    await imported([hashed(name)]);
    assert.equal(await login(name), 201);
    const { password_hash } = await row(name);
    await imported([hashed(name)], { query: '?onExisting=update' });
    assert.equal((await row(name)).password_hash, password_hash);
  });

  it('is kept for corrected entries, whose hashes are reported as they were sent', async () => {
    const name = unique('fixed');
    const bad = { ...hashed(name), user: { ...hashed(name).user, profile: {} } };
    const importId = await imported([bad]);
    const report = await api.call('GET', `/admin/v1/imports/${importId}/report?format=dataorgs`);
    assert.ok(JSON.stringify(report.body).includes(SUFFIX) && !JSON.stringify(report.body).includes('$pepper$'));
    const fixed = await api.call('PATCH', `/admin/v1/imports/${importId}/items/0`, {
      user: { profile: { firstName: 'Fay', lastName: 'Fox' } },
    });
    assert.equal(fixed.status, 200, JSON.stringify(fixed.body));
    const { rows } = await api.deps.pool.query('select password_hash from import_items where import_id = $1', [
      importId,
    ]);
    assert.equal(rows[0].password_hash, `$pepper$${importId}$${SUFFIX}`);
  });

  it('is kept with a draft, until its import starts and after', async () => {
    const name = unique('drafted');
    const { body, status } = await send([hashed(name)], { query: '?draft=true' });
    assert.equal(status, 202, JSON.stringify(body));
    await sweepPeppers(api.deps.pool);
    const started = await api.call('POST', `/admin/v1/imports/${body.importId}/_start`, { timeout: '10m' });
    assert.equal(started.status, 200, JSON.stringify(started.body));
    assert.equal(await auditedMode(body.importId), 'suffix', 'as in the event of a direct import');
    await writeBatch(writer, body.importId, [0], SETTINGS);
    assert.equal(await login(name), 201);
  });

  it('is erased when no user and no stored entry needs it', async () => {
    const name = unique('last');
    const importId = await imported([hashed(name)]);
    const end = (columns: string) => api.deps.pool.query(`update imports set ${columns} where id = $1`, [importId]);
    await sweepPeppers(api.deps.pool);
    assert.equal((await peppers(importId)).length, 1, 'a user needs it');
    assert.equal(await login(name), 201);
    await sweepPeppers(api.deps.pool);
    assert.equal((await peppers(importId)).length, 1, 'the import may still write users');
    await end('finished_at = now(), erased_to = total');
    await sweepPeppers(api.deps.pool);
    assert.deepEqual(await peppers(importId), []);
  });

  it('that is missing lets nobody in', async () => {
    const name = unique('lost');
    const importId = await imported([hashed(name)]);
    await api.deps.pool.query('delete from import_peppers where import_id = $1', [importId]);
    assert.equal(await login(name), 400);
  });
});

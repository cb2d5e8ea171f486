/** The factors of users who could not be written: what a report returns of them, and what a correction keeps. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { factorsOf } from '../../support/imports/factors.ts';
import { entry, openWriterPool } from '../../support/imports/imports.ts';

const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const CODE = 'ABCDE-FGHJK';
const HASHED = { hash: Buffer.alloc(64, 7).toString('base64'), scheme: 'keycloak-sha512' };
const KEY = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
/** A COSE key of Ed25519: {1: 1, 3: -8, -1: 6, -2: x}. */
const COSE = Buffer.concat([Buffer.from('a4010103272006215820', 'hex'), KEY]).toString('base64url');

describe('the factors of a user who failed', () => {
  let api: TestApi;
  let pool: Pool;
  let writer: Pool;
  let orgId: string;
  before(async () => {
    api = await startApi();
    pool = api.deps.pool;
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    orgId = (await api.call('POST', '/management/v1/orgs', { name: 'Acme' })).body.id;
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const passkey = (more: object = {}) => ({
    credentialId: randomBytes(32).toString('base64url'),
    publicKey: COSE,
    signCount: 3,
    rpId: 'auth.example.com',
    ...more,
  });
  async function imported(humanUsers: unknown[]): Promise<string> {
    const { status, body } = await api.call('POST', '/admin/v1/import', bulk(orgId, humanUsers));
    assert.equal(status, 202, JSON.stringify(body));
    await settle(body.importId, humanUsers.length);
    return body.importId;
  }
  const settle = (id: string, n: number) => writeBatch(writer, id, [...Array(n).keys()], { codeTtlMs: 100_000 });
  const call = (method: string, path: string, body?: unknown) => api.call(method, `/admin/v1/imports/${path}`, body);
  async function retried(id: string, n: number): Promise<void> {
    assert.equal((await call('POST', `${id}/_retry`, {})).status, 200);
    await settle(id, n);
  }
  const reported = async (id: string) =>
    (await call('GET', `${id}/report?format=dataorgs`)).body.dataOrgs.orgs[0].humanUsers;

  const taken = entry('taken', { recoveryCodes: [CODE] });
  const full = () => ({
    totps: [
      { secret: SECRET, name: 'Phone' },
      { secret: `${SECRET}AA`, digits: 8 },
    ],
    recoveryCodes: [HASHED],
    passkeys: [
      passkey({ userHandle: 'YW5u', transports: ['usb'], name: 'Key', backedUp: false, secondFactorOnly: true }),
    ],
    otpEmail: true,
    otpSms: true,
  });

  it('come back in a report as they were sent, but for keys of apps, which are withheld, and codes in clear, which are hashes', async () => {
    await imported([entry('taken')]);
    const factors = full();
    const [first, second] = await reported(await imported([entry('taken', factors), taken]));
    const WITHHELD = { withheld: 'Secrets are not returned. Enter the value again, or remove this field.' };
    const { totps, recoveryCodes, passkeys, otpEmail, otpSms } = first.user;
    assert.deepEqual(totps, [{ secret: WITHHELD, name: 'Phone' }, { secret: WITHHELD }]);
    assert.deepEqual([recoveryCodes, passkeys, otpEmail, otpSms], [[HASHED], factors.passkeys, true, true]);
    assert.equal(second.user.recoveryCodes[0].scheme, 'muster-sha256');
    assert.ok(!JSON.stringify(second).includes(CODE));
    const again = await imported([{ ...second, userId: 'id-again', user: { ...second.user, userName: 'again' } }]);
    assert.equal((await factorsOf(pool, 'id-again')).recoveryLeft, 1, again);
  });

  it('stay when another field is corrected, also by way of an entry that is still invalid', async () => {
    const id = await imported([entry('taken', { ...full(), recoveryCodes: [CODE, 'LMNPQ-RSTUV'] }), taken]);
    const shown = JSON.stringify((await call('GET', `${id}/items/0`)).body);
    assert.ok(!shown.includes(SECRET) && shown.includes('auth.example.com'), shown);
    const patch = (index: number, body: object) => call('PATCH', `${id}/items/${index}`, body);
    const bad = await patch(0, { userId: 'id-free', user: { userName: 'free', email: { email: 'x' } } });
    assert.deepEqual([bad.status, bad.body.details?.[1].fieldViolations.length], [400, 1]);
    const good = await patch(0, { userId: 'id-free', user: { userName: 'free' } });
    assert.equal(good.body.error?.details[0].id, 'IMPORT-USER-FIXED', JSON.stringify(good.body));
    await patch(1, { userId: 'id-other', user: { userName: 'other', recoveryCodes: null } });
    await retried(id, 2);
    const free = await factorsOf(pool, 'id-free');
    assert.deepEqual(
      [free.totps.length, free.recoveryLeft, free.passkeys.length, free.otpEmail, free.otpSms],
      [2, 2, 1, true, true],
    );
    assert.equal((await factorsOf(pool, 'id-other')).row, undefined);
  });

  it('with a passkey that somebody has are corrected without it', async () => {
    const passkeys = [passkey()];
    await imported([entry('holder', { passkeys })]);
    const id = await imported([entry('second', { passkeys, recoveryCodes: [CODE] })]);
    const { causes } = (await call('GET', `${id}/causes`)).body;
    assert.deepEqual(
      causes.map((c: { id: string; remedies: string[] }) => [c.id, c.remedies]),
      [['PASSKEY-TAKEN', ['leave-out']]],
    );
    const fixed = await call('PATCH', `${id}/items/0`, { user: { passkeys: null } });
    assert.equal(fixed.body.error?.details[0].id, 'IMPORT-USER-FIXED', JSON.stringify(fixed.body));
    await retried(id, 1);
    const second = await factorsOf(pool, 'id-second');
    assert.deepEqual([second.passkeys.length, second.recoveryLeft], [0, 1]);
  });

  it('of a single user with a taken passkey are refused as a conflict', async () => {
    const passkeys = [passkey()];
    await imported([entry('one', { passkeys })]);
    const importing = api.call('POST', '/management/v1/users/human/_import', entry('two', { passkeys }).user, {
      orgId,
    });
    const answer = await settledSingle(importing);
    assert.deepEqual([answer.status, answer.body.details?.[0].id], [409, 'PASSKEY-TAKEN'], JSON.stringify(answer.body));
  });

  /** A worker's part. */
  async function settledSingle(importing: ReturnType<TestApi['call']>): ReturnType<TestApi['call']> {
    let answer: Awaited<ReturnType<TestApi['call']>> | undefined;
    void importing.then((found) => (answer = found));
    while (!answer) {
      const { rows } = await pool.query(`select id from imports where kind = 'single' and state = 'running'`);
      for (const { id } of rows) await settle(id, 1);
      await new Promise(setImmediate);
    }
    return answer;
  }
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { bulk, OLD_PASSWORD } from '../../support/imports/bodies.ts';
import { entries, entry, errorIdOf, HASH, itemRows, openWriterPool } from '../../support/imports/imports.ts';

const SECRET = 'JBSWY3DPEHPK3PXP';

describe('the report of an import', () => {
  let api: TestApi;
  let pool: Pool;
  let writer: Pool;
  let orgId: string;
  let other: string;
  before(async () => {
    api = await startApi();
    pool = api.deps.pool;
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    [orgId, other] = await Promise.all(['Acme', 'Other'].map(newOrg));
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const newOrg = async (name: string) => (await api.call('POST', '/management/v1/orgs', { name })).body.id;
  const report = (id: string, query = '') => api.call('GET', `/admin/v1/imports/${id}/report${query}`);
  const lines = (text: string) => text.split('\n').slice(0, -1);
  async function accepted(body: unknown): Promise<string> {
    const answer = await api.call('POST', '/admin/v1/import', body);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    return answer.body.importId;
  }
  const settle = (id: string, ordinals: number[]) => writeBatch(writer, id, ordinals, { codeTtlMs: 1000 });
  const act = (id: string, action: string) => api.call('POST', `/admin/v1/imports/${id}/${action}`, {});

  it('has by default one line for each user, as the pages show them', async () => {
    const id = await accepted(bulk(orgId, [...entries(3), null, { userId: 'x', user: { userName: 'bad' } }]));
    await settle(id, [0, 2]);
    const { status, body, headers } = await report(id);
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/x-ndjson/);
    assert.equal(headers.get('content-disposition'), `attachment; filename="import-${id}.ndjson"`);
    const { items } = (await api.call('GET', `/admin/v1/imports/${id}/items`)).body;
    assert.deepEqual(
      lines(body).map((line) => JSON.parse(line)),
      items,
    );
    assert.equal((await report(id, '?format=ndjson')).body, body);
  });

  it('contains each user of a large import once, filtered by state', async () => {
    const total = 1700;
    const id = await accepted(
      bulk(
        orgId,
        Array.from({ length: total }, (_, i) => entry(`l${i}`)),
      ),
    );
    const some = Array.from({ length: 600 }, (_, i) => 1000 + i);
    await settle(id, some);
    const indexes = async (query: string) =>
      lines((await report(id, query)).body).map((line) => JSON.parse(line).index);
    assert.deepEqual(
      await indexes(''),
      Array.from({ length: total }, (_, i) => i),
    );
    assert.deepEqual(await indexes('?state=ITEM_STATE_SUCCEEDED'), some);
    assert.deepEqual((await indexes('?state=PENDING')).length, total - 600);
    assert.deepEqual(await indexes('?state=FAILED'), []);
    assert.deepEqual(await indexes('?state=CANCELLED'), []);
    await act(id, '_cancel');
    assert.equal((await indexes('?state=CANCELLED')).length, total - 600);
    const again = JSON.parse(JSON.stringify((await report(id, '?format=dataorgs')).body));
    assert.equal(again.dataOrgs.orgs[0].humanUsers.length, total - 600);
  });

  it('can be CSV as in RFC 4180, with nothing that a spreadsheet would compute', async () => {
    const id = await accepted(
      bulk(orgId, [
        entry('c0', { userName: '=1+1' }),
        entry('c1', { userName: 'a "quoted", name' }),
        { userId: '@x', user: { userName: '-2' } },
      ]),
    );
    const { body, headers } = await report(id, '?format=csv');
    assert.match(headers.get('content-type') ?? '', /^text\/csv/);
    assert.match(headers.get('content-disposition') ?? '', /\.csv"$/);
    const [head, first, second, third] = body.split('\r\n');
    assert.equal(
      head,
      'index,orgId,userId,userName,state,kept,code,id,message,fields,signInWay,signInCause,signInChanges',
    );
    assert.equal(first, `0,${orgId},id-c0,'=1+1,ITEM_STATE_PENDING,,,,,,PASSWORD,,`);
    assert.equal(second, `1,${orgId},id-c1,"a ""quoted"", name",ITEM_STATE_PENDING,,,,,,PASSWORD,,`);
    assert.match(third, new RegExp(`^2,${orgId},'@x,'-2,ITEM_STATE_FAILED,,3,IMPORT-USER-INVALID,`));
    assert.match(third, /,"?user\.profile: is required; user\.email: is required"?,,,$/);
  });

  it('can be a body with the remaining users to send again, complete and in order', async () => {
    const all = {
      userName: 'full',
      profile: {
        firstName: 'Ann',
        lastName: 'Arbor',
        nickName: 'A',
        displayName: 'Ann A.',
        preferredLanguage: 'de',
        gender: 'GENDER_FEMALE',
      },
      email: { email: 'ann@example.com', isEmailVerified: true },
      phone: { phone: '+41791234567', isPhoneVerified: true },
      hashedPassword: { value: HASH },
      passwordChangeRequired: true,
      metadata: [{ key: 'plan', value: 'Z29sZA==' }],
      idps: [{ configId: 'google', externalUserId: '1157', displayName: 'Ann' }],
    };
    const full = { userId: 'id-full', state: 'USER_STATE_LOCKED', user: all };
    const plain = entry('usual', { profile: { firstName: 'B', lastName: 'C', displayName: 'B C' } });
    const orgs = [
      { orgId, humanUsers: [full, entry('gone'), null] },
      { orgId: other, humanUsers: [plain] },
      { orgId, humanUsers: [{ userId: 'odd', user: { userName: 'odd', email: { email: 'odd' }, shoe: 43 } }, 7] },
    ];
    const id = await accepted({ dataOrgs: { orgs }, timeout: '30m0s' });
    await settle(id, [1]);
    await act(id, '_cancel');
    const { body, headers } = await report(id, '?format=dataorgs');
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.deepEqual(body, {
      dataOrgs: { orgs: [{ orgId, humanUsers: [full, null] }, { orgId: other, humanUsers: [plain] }, orgs[2]] },
      timeout: '30m0s',
    });
    const failed = (await report(id, '?format=dataorgs&state=FAILED')).body;
    assert.deepEqual(failed.dataOrgs.orgs, [{ orgId, humanUsers: [null] }, orgs[2]]);
    assert.deepEqual((await report(id, '?format=dataorgs&state=SUCCEEDED')).body.dataOrgs.orgs, []);

    const corrected = JSON.parse(JSON.stringify(body).replace('"odd"}', '"odd@example.com"}'));
    corrected.dataOrgs.orgs[2].humanUsers[0].user.profile = { firstName: 'O', lastName: 'D' };
    const again = await accepted(corrected);
    assert.deepEqual(
      (await itemRows(pool, again)).map((i) => i.state),
      ['pending', 'failed', 'pending', 'pending', 'failed'],
    );
    assert.equal(await settle(again, [0, 2, 3]), 3);
    const { user } = (await api.call('GET', '/v2beta/users/id-full')).body;
    assert.deepEqual([user.state, user.human.profile.gender], ['USER_STATE_LOCKED', 'GENDER_FEMALE']);
  });

  it('returns a plain password as a hash, for valid and invalid entries, and no other secret', async () => {
    const plain = { hashedPassword: undefined };
    const users = [
      entry('s0', { ...plain, password: OLD_PASSWORD, otpCode: SECRET }),
      { ...entry('s1', { ...plain, password: OLD_PASSWORD }), state: 'NO_STATE' },
      entry('s2', { password: 'the-plain-one' }),
      entry('s3', { ...plain, password: 4711 }),
      {
        userId: 's4',
        password: 'the-plain-one',
        user: { otp_code: SECRET, nested: [{ pass_phrase: 'the-plain-one' }] },
      },
      { userId: 's5', user: { hashed_password: { value: HASH }, passwordHash: 'x', password_change_required: 'no' } },
    ];
    const id = await accepted(bulk(orgId, users));
    const stored = JSON.stringify(await itemRows(pool, id));
    for (const secret of [OLD_PASSWORD, 'the-plain-one', SECRET]) assert.ok(!stored.includes(`"${secret}"`));
    const answer = await report(id, '?format=dataorgs');
    const text = JSON.stringify(answer.body);
    for (const secret of [OLD_PASSWORD, 'the-plain-one', SECRET, '4711']) assert.ok(!text.includes(secret), secret);
    const given = answer.body.dataOrgs.orgs[0].humanUsers;
    const WITHHELD = { withheld: 'Secrets are not returned. Enter the value again, or remove this field.' };
    for (const i of [0, 1]) {
      assert.equal(given[i].user.password, undefined);
      const { value } = given[i].user.hashedPassword;
      assert.deepEqual(await api.deps.hasher.verify(value, OLD_PASSWORD), { ok: true, rehash: false });
    }
    assert.deepEqual([given[0].user.otpCode, given[2].user.password, given[3].user.password], Array(3).fill(WITHHELD));
    assert.deepEqual(given[2].user.hashedPassword, { value: HASH });
    assert.deepEqual(given[4], {
      userId: 's4',
      password: WITHHELD,
      user: { otpCode: WITHHELD, nested: [{ pass_phrase: WITHHELD }] },
    });
    assert.deepEqual(given[5].user, {
      hashedPassword: { value: HASH },
      passwordHash: 'x',
      passwordChangeRequired: 'no',
    });
    assert.deepEqual((await report(id, '?format=dataorgs')).body, answer.body, 'the hash is made once');
    const [row] = await itemRows(pool, id);
    assert.deepEqual([row?.password_sealed, row?.password_hash], [null, given[0].user.hashedPassword.value]);

    const again = await accepted(bulk(orgId, given));
    const items = await itemRows(pool, again);
    assert.equal(errorIdOf(items[0]), 'IMPORT-USER-INVALID', 'a second factor is not lost unnoticed');
    assert.match(JSON.stringify(items[0]?.error), /user\.otpCode/);
    assert.ok(items.every((i) => i.state === 'failed'));
  });

  it('contains all outcomes, but no data that was erased', async () => {
    const id = await accepted(bulk(orgId, [entry('e0'), null]));
    await act(id, '_cancel');
    await pool.query('update import_items set user_name_key = null, entry_sealed = null where import_id = $1', [id]);
    assert.deepEqual((await report(id, '?format=dataorgs')).body.dataOrgs.orgs, []);
    assert.equal(lines((await report(id)).body).length, 2);
  });

  it('refuses unknown parameters, and callers without the permission', async () => {
    const id = await accepted(bulk(orgId, [entry('r0')]));
    for (const query of ['?format=xml', '?format=', '?state=NOWHERE', '?pageSize=3', '?format=csv&format=csv']) {
      const answer = await report(id, query);
      assert.deepEqual([answer.status, errorId(answer)], [400, 'IMPORT-QUERY'], query);
    }
    const { token } = await api.machine(orgId, ['ORG_USER_MANAGER']);
    assert.equal(
      (await api.call('GET', `/admin/v1/imports/${id}/report?format=xml`, undefined, { token })).status,
      403,
    );
    assert.equal((await report('999999')).status, 404);
  });

  it('reads no faster than its client, and stops when the client disconnects', async (t) => {
    // Random data does not compress, so it counts in full.
    const metadata = () => [{ key: 'k', value: randomBytes(300_000).toString('base64') }];
    const users = Array.from({ length: 50 }, (_, i) => entry(`m${i}`, { metadata: metadata() }));
    const id = await accepted(bulk(orgId, users));
    const { mock } = t.mock.method(pool, 'query');
    const pages = () => mock.calls.filter((c) => String(c.arguments[0]).includes('with sized')).length;
    const query = '?format=dataorgs';
    assert.equal((await report(id, query)).body.dataOrgs.orgs[0].humanUsers.length, 50);
    const all = pages();
    assert.ok(all > 4, `${all} pages for 20 MB`);

    const client = request(`${api.url}/admin/v1/imports/${id}/report${query}`, {
      headers: { authorization: `Bearer ${api.token}` },
    }).end();
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    await once(response.pause(), 'readable');
    const before = pages();
    const { body } = await report(id, query);
    assert.equal(body.dataOrgs.orgs[0].humanUsers.length, 50);
    assert.ok(pages() - before <= all + 2, 'nothing is read for a client that does not read');
    response.destroy();
    const other = await report(id, query);
    assert.equal(other.status, 200);
    assert.ok(pages() < 4 * all - 1, `${pages()} pages, where complete reports have ${all}`);
  });
});

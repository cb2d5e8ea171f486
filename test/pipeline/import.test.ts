/**
 * A bulk import from the request to users that log in: the answer, the result, the items, and the callers who may see
 * them.
 */
import assert from 'node:assert/strict';
import { bulk, OLD_PASSWORD, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { assertEachOnce, assertSums } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const NO_COUNTS = { pending: 0, succeeded: 0, skipped: 0, failed: 0, timedOut: 0, cancelled: 0, undone: 0 };

onEachBackend('a bulk import', async (t, backend) => {
  const service = await startService(t, { backend });
  const org = await service.newOrg();
  const other = await service.newOrg();

  await t.test('is accepted with 202 and ends with every user written', async () => {
    const before = Date.now();
    const { status, body, headers } = await service.importBody(bulk(org.orgId, people('a', 250), '30m0s'), {
      token: org.ownerToken,
    });
    assert.equal(status, 202);
    assert.equal(headers.get('location'), `/admin/v1/imports/${body.importId}`);
    assert.deepEqual(Object.keys(body).sort(), ['counts', 'deadline', 'details', 'importId', 'state']);
    assert.match(body.state, /^IMPORT_STATE_(RUNNING|SUCCEEDED)$/);
    assert.equal(body.counts.total, 250);
    const deadline = Date.parse(body.deadline);
    assert.ok(deadline >= before + 30 * 60_000 && deadline <= Date.now() + 30 * 60_000, body.deadline);
    assert.match(body.details.sequence, /^\d+$/);

    const result = await service.waitForEnd(body.importId, { token: org.ownerToken });
    assert.equal(result.state, 'IMPORT_STATE_SUCCEEDED');
    assert.deepEqual(result.counts, { ...NO_COUNTS, total: 250, succeeded: 250 });
    await assertEachOnce(service, body.importId, { users: 250 });
    await waitFor(async () => (await service.depth()) === 0, { what: 'the queue to be empty' });
  });

  await t.test('creates users that read as they were sent', async () => {
    const full = {
      profile: {
        firstName: 'Zoë',
        lastName: 'Ng',
        nickName: 'zo',
        displayName: 'Dr. Zoë Ng',
        preferredLanguage: 'de-CH',
        gender: 'GENDER_DIVERSE',
      },
      email: { email: 'zoe@localhost', isEmailVerified: true },
      phone: { phone: '+41 44 000 00 00', isPhoneVerified: true },
      passwordChangeRequired: true,
    };
    const sent = entry('Zoë.Ng', full);
    await service.imported(bulk(org.orgId, [{ ...sent, userId: 'auth0|zoë:1' }]));
    const path = `/v2beta/users/${encodeURIComponent('auth0|zoë:1')}`;
    const { body } = await must(service.call('GET', path, undefined, { token: org.ownerToken }));
    assert.equal(body.details.resourceOwner, org.orgId);
    const { human, ...user } = body.user;
    assert.deepEqual(
      [user.userId, user.state, user.username, user.preferredLoginName],
      ['auth0|zoë:1', 'USER_STATE_ACTIVE', 'Zoë.Ng', `Zoë.Ng@${org.domain}`],
    );
    const { firstName: givenName, lastName: familyName, ...names } = full.profile;
    const { avatarUrl: _, ...profile } = human.profile;
    assert.deepEqual(profile, { givenName, familyName, ...names });
    assert.deepEqual(human.email, { email: 'zoe@localhost', isVerified: true });
    assert.deepEqual(human.phone, { phone: '+41 44 000 00 00', isVerified: true });
    assert.equal(human.passwordChangeRequired, true);
  });

  await t.test('lets them log in with their old password, by either login name, in any case', async () => {
    await service.imported(bulk(org.orgId, people('Old-', 2)));
    for (const loginName of ['Old-1', 'OLD-1', `old-1@${org.domain}`]) {
      const { status, body } = await service.login(loginName, OLD_PASSWORD, { token: org.ownerToken });
      assert.equal(status, 201, JSON.stringify(body));
      assert.ok(body.sessionToken);
    }
    assert.equal((await service.login('Old-1', 'Secret')).status, 400);
    // The first successful login re-hashed it; the password is still the same.
    assert.equal((await service.login('Old-1', OLD_PASSWORD)).status, 201);
  });

  await t.test('answers 200 with the final result when the caller waits', async () => {
    const headers = { prefer: 'respond-async, wait=20' };
    const answer = await service.importBody(bulk(org.orgId, people('w', 20)), { headers });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('preference-applied') ?? '', /wait/);
    assert.equal(answer.headers.get('location'), `/admin/v1/imports/${answer.body.importId}`);
    assert.equal(answer.body.state, 'IMPORT_STATE_SUCCEEDED');
    assert.deepEqual(answer.body.errors, []);
    assert.deepEqual(answer.body.success, {
      orgs: [{ orgId: org.orgId, humanUserIds: people('w', 20).map((e) => e.userId) }],
    });
    const { body } = await service.call('GET', `/admin/v1/imports/${answer.body.importId}`);
    assert.deepEqual(body, answer.body);
  });

  await t.test('counts each of two organizations separately', async () => {
    const orgs = [
      { orgId: org.orgId, humanUsers: [...people('both', 3), null] },
      { orgId: other.orgId, humanUsers: people('other', 2) },
      { orgId: org.orgId, humanUsers: people('again', 4) },
    ];
    const result = await service.imported({ timeout: '5m', dataOrgs: { orgs } });
    assert.equal(result.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    assert.deepEqual(result.counts, { ...NO_COUNTS, total: 10, succeeded: 9, failed: 1 });
    assert.deepEqual(result.orgs, [
      { orgId: org.orgId, counts: { ...NO_COUNTS, total: 8, succeeded: 7, failed: 1 } },
      { orgId: other.orgId, counts: { ...NO_COUNTS, total: 2, succeeded: 2 } },
    ]);
    const { rows } = await service.pool.query(
      'select org_id, count(*)::int as n from users where import_id = $1 group by 1 order by 2',
      [result.importId],
    );
    assert.deepEqual(rows, [
      { org_id: other.orgId, n: 2 },
      { org_id: org.orgId, n: 7 },
    ]);
  });

  await t.test('shares the workers with another import', async () => {
    const [one, two] = await Promise.all([
      must(service.importBody(bulk(org.orgId, people('one', 400)))),
      must(service.importBody(bulk(other.orgId, people('two', 400)))),
    ]);
    for (const { body } of [one, two]) {
      assert.equal((await service.waitForEnd(body.importId)).state, 'IMPORT_STATE_SUCCEEDED');
      await assertEachOnce(service, body.importId, { users: 400 });
    }
  });

  await t.test('shows its items in pages, by state, organization and user', async () => {
    const orgs = [
      { orgId: org.orgId, humanUsers: [...people('p', 5), 7] },
      { orgId: other.orgId, humanUsers: people('q', 5) },
    ];
    const { importId } = await service.imported({ timeout: '5m', dataOrgs: { orgs } });
    const list = async (query: string) =>
      (await must(service.call('GET', `/admin/v1/imports/${importId}/items?${query}`))).body;

    const seen: { index: number }[] = [];
    for (let token = '', pages = 0; pages === 0 || token !== ''; ) {
      const page = await list(`pageSize=4&pageToken=${token}`);
      seen.push(...page.items);
      token = page.nextPageToken;
      assert.ok(++pages <= 3);
    }
    assert.deepEqual(
      seen.map((i) => i.index),
      Array.from({ length: 11 }, (_, i) => i),
    );
    const [first] = (await list('userId=id-p0')).items;
    assert.deepEqual(first, {
      index: 0,
      orgId: org.orgId,
      userId: 'id-p0',
      userName: 'p0',
      state: 'ITEM_STATE_SUCCEEDED',
      signIn: first.signIn,
    });
    assert.equal((await list(`orgId=${other.orgId}`)).items.length, 5);
    const failed = (await list('state=ITEM_STATE_FAILED')).items;
    assert.deepEqual([failed.length, failed[0].index, failed[0].error.code], [1, 5, 3]);
    assert.equal((await list('state=ITEM_STATE_PENDING')).items.length, 0);
    assert.equal((await list('userId=nobody')).items.length, 0);
    for (const query of ['state=FINE', 'pageSize=0', 'pageSize=1001', 'pageToken=x', 'colour=blue', 'userId=%00']) {
      const { status } = await service.call('GET', `/admin/v1/imports/${importId}/items?${query}`);
      assert.equal(status, 400, query);
    }
  });

  await t.test('is listed, the newest first, to those who own all of its organizations', async () => {
    const viewer = await service.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    const orgs = [
      { orgId: org.orgId, humanUsers: people('ab', 1) },
      { orgId: other.orgId, humanUsers: people('ba', 1) },
    ];
    const mine = await service.imported(bulk(org.orgId, people('mine', 1)));
    const theirs = await service.imported(bulk(other.orgId, people('theirs', 1)));
    const shared = await service.imported({ timeout: '5m', dataOrgs: { orgs } });
    const list = async (token: string, query = '') =>
      (await must(service.call('GET', `/admin/v1/imports${query}`, undefined, { token }))).body;
    const ids = (page: { imports: { importId: string }[] }) => page.imports.map((i) => i.importId);

    const all = await list(service.token);
    assert.deepEqual(ids(all).slice(0, 3), [shared.importId, theirs.importId, mine.importId]);
    for (const one of all.imports) assertSums(one);
    assert.ok(ids(await list(org.ownerToken)).includes(mine.importId));
    assert.ok(!ids(await list(org.ownerToken)).includes(theirs.importId));
    assert.ok(!ids(await list(org.ownerToken)).includes(shared.importId));
    assert.equal((await service.call('GET', '/admin/v1/imports', undefined, { token: viewer.token })).status, 403);

    const first = await list(service.token, '?pageSize=2');
    const second = await list(service.token, `?pageSize=100&pageToken=${first.nextPageToken}`);
    assert.deepEqual([first.imports.length, second.nextPageToken], [2, '']);
    assert.deepEqual(await list(service.token, '?pageSize=2&pageToken='), first);
    assert.deepEqual([...ids(first), ...ids(second)], ids(all));

    for (const [importId, token, status] of [
      [mine.importId, org.ownerToken, 200],
      [mine.importId, other.ownerToken, 403],
      [mine.importId, viewer.token, 403],
      [shared.importId, org.ownerToken, 403],
      ['999999', org.ownerToken, 403],
      ['999999', service.token, 404],
      ['nonsense', service.token, 404],
    ] as const) {
      const actions = status === 200 ? [] : ['POST /_cancel', 'POST /_resume'];
      for (const action of ['GET ', 'GET /items', 'GET /events', ...actions]) {
        const [method, rest] = action.split(' ') as [string, string];
        const answer = await service.call(method, `/admin/v1/imports/${importId}${rest}`, undefined, { token });
        assert.equal(answer.status, status, `${importId} ${action}`);
      }
    }
  });
});

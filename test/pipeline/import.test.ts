/** A bulk import from the request to users that log in: the answer, the result, its items, and who may see them. */
import assert from 'node:assert/strict';
import { bulk, OLD_PASSWORD, people } from '../support/bodies.ts';
import { entry } from '../support/imports.ts';
import { assertEachOnce, assertSums } from '../support/outcome.ts';
import { must, onBothBackends, type Service, startService } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const NO_COUNTS = { pending: 0, succeeded: 0, skipped: 0, failed: 0, timedOut: 0, cancelled: 0, undone: 0 };

onBothBackends('a bulk import', async (t, backend) => {
  const service = await startService(t, { backend });
  const org = await service.newOrg();
  const other = await service.newOrg();

  await t.test('is accepted with 202 and ends with every user there', async () => {
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

  await t.test('brings users who read as they were sent', async () => {
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
    await imported(service, bulk(org.orgId, [{ ...sent, userId: 'auth0|zoë:1' }]));
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
    await imported(service, bulk(org.orgId, people('Old-', 2)));
    for (const loginName of ['Old-1', 'OLD-1', `old-1@${org.domain}`]) {
      const { status, body } = await login(service, loginName, OLD_PASSWORD, org.ownerToken);
      assert.equal(status, 201, JSON.stringify(body));
      assert.ok(body.sessionToken);
    }
    assert.equal((await login(service, 'Old-1', 'Secret', org.ownerToken)).status, 400);
    // The first good login hashed it anew; the password is still the same.
    assert.equal((await login(service, 'Old-1', OLD_PASSWORD, org.ownerToken)).status, 201);
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

  await t.test('counts two organizations each for itself', async () => {
    const orgs = [
      { orgId: org.orgId, humanUsers: [...people('both', 3), null] },
      { orgId: other.orgId, humanUsers: people('other', 2) },
      { orgId: org.orgId, humanUsers: people('again', 4) },
    ];
    const result = await imported(service, { timeout: '5m', dataOrgs: { orgs } });
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

  await t.test('shares the workers with another one', async () => {
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
    const { importId } = await imported(service, { timeout: '5m', dataOrgs: { orgs } });
    const list = async (query: string) =>
      (await must(service.call('GET', `/admin/v1/imports/${importId}/items?${query}`))).body;

    const seen: { index: number }[] = [];
    for (let token: string | undefined, pages = 0; ; ) {
      const page = await list(`pageSize=4${token ? `&pageToken=${token}` : ''}`);
      seen.push(...page.items);
      token = page.nextPageToken;
      assert.ok(++pages <= 3);
      if (!token) break;
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
});

onBothBackends('the list of imports', async (t, backend) => {
  const service = await startService(t, { backend });
  const [a, b] = [await service.newOrg(), await service.newOrg()];
  const viewer = await service.machine(a.orgId, ['ORG_OWNER_VIEWER']);
  const ofA = await imported(service, bulk(a.orgId, people('a', 2)));
  const ofB = await imported(service, bulk(b.orgId, people('b', 2)));
  const orgs = [
    { orgId: a.orgId, humanUsers: people('ab', 1) },
    { orgId: b.orgId, humanUsers: people('ba', 1) },
  ];
  const ofBoth = await imported(service, { timeout: '5m', dataOrgs: { orgs } });
  const ids = async (token: string) =>
    (await must(service.call('GET', '/admin/v1/imports', undefined, { token }))).body.imports.map(
      (i: { importId: string }) => i.importId,
    );

  await t.test('shows the newest first, to those who own all of its organizations', async () => {
    assert.deepEqual(await ids(service.token), [ofBoth.importId, ofB.importId, ofA.importId]);
    assert.deepEqual(await ids(a.ownerToken), [ofA.importId]);
    assert.deepEqual(await ids(b.ownerToken), [ofB.importId]);
    assert.equal((await service.call('GET', '/admin/v1/imports', undefined, { token: viewer.token })).status, 403);
  });

  await t.test('comes in pages', async () => {
    const first = (await service.call('GET', '/admin/v1/imports?pageSize=2')).body;
    assert.equal(first.imports.length, 2);
    assertSums(first.imports[0]);
    const second = (await service.call('GET', `/admin/v1/imports?pageSize=2&pageToken=${first.nextPageToken}`)).body;
    assert.deepEqual([second.imports.length, second.nextPageToken], [1, undefined]);
  });

  await t.test('and each import is shown to the same callers, whatever of it they ask for', async () => {
    for (const [importId, token, status] of [
      [ofA.importId, a.ownerToken, 200],
      [ofA.importId, b.ownerToken, 403],
      [ofA.importId, viewer.token, 403],
      [ofBoth.importId, a.ownerToken, 403],
      ['999999', a.ownerToken, 403],
      ['999999', service.token, 404],
      ['nonsense', service.token, 404],
    ] as const) {
      for (const [method, action] of [
        ['GET', ''],
        ['GET', '/items'],
        ['GET', '/events'],
      ] as const) {
        const answer = await service.call(method, `/admin/v1/imports/${importId}${action}`, undefined, { token });
        assert.equal(answer.status, status, `${importId}${action}`);
      }
      if (status === 200) continue;
      for (const action of ['_cancel', '_resume']) {
        const answer = await service.call('POST', `/admin/v1/imports/${importId}/${action}`, {}, { token });
        assert.equal(answer.status, status, `${importId}/${action}`);
      }
    }
  });
});

async function imported(service: Service, body: unknown) {
  const { importId } = (await must(service.importBody(body))).body;
  return service.waitForEnd(importId);
}

function login(service: Service, loginName: string, password: string, token: string) {
  return service.call(
    'POST',
    '/v2beta/sessions',
    { checks: { user: { loginName }, password: { password } } },
    { token },
  );
}

/** The forms of a body: spellings, key order, encodings, invalid entries, duplicate users. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { errorId } from '../support/answers.ts';
import { bulk, fixture, OLD_PASSWORD, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import { must, onOneBackend, startService } from '../support/processes/service.ts';

onOneBackend('the body of a bulk import', async (t, backend) => {
  const service = await startService(t, { backend });
  const { orgId } = await service.newOrg();

  await t.test('is accepted in snake_case', async () => {
    const { user } = entry('x');
    const snake = {
      user_name: 'snake',
      profile: { first_name: 'Sam', last_name: 'Snake', preferred_language: 'en', gender: 'GENDER_MALE' },
      email: { email: 'sam@example.com', is_email_verified: true },
      hashed_password: user.hashedPassword,
      password_change_required: true,
      idps: [{ config_id: 'idp1', external_user_id: 'sam@idp', display_name: 'Sam' }],
    };
    const body = { data_orgs: { orgs: [{ org_id: orgId, human_users: [{ user_id: 'snake:1', user: snake }] }] } };
    const result = await service.imported({ ...body, timeout: '5m' });
    assert.deepEqual([result.state, result.warnings], ['IMPORT_STATE_SUCCEEDED', []]);
    const { human, username } = (await service.call('GET', '/v2beta/users/snake:1')).body.user;
    assert.deepEqual(
      [username, human.profile.givenName, human.profile.gender, human.email.isVerified, human.passwordChangeRequired],
      ['snake', 'Sam', 'GENDER_MALE', true, true],
    );
  });

  await t.test('is accepted with its keys in any order', async () => {
    const { userId, user } = entry('order');
    const body = `\ufeff{"timeout" : "5m" ,\r\n"dataOrgs":{"orgs":[
      {"humanUsers":[{"user":${JSON.stringify(Object.fromEntries(Object.entries(user).reverse()))},"userId":"${userId}"}
      ], "orgId":${JSON.stringify(orgId)}}, {"humanUsers":[],"orgId":${JSON.stringify(orgId)}}]}}\n`;
    const result = await service.imported(body);
    assert.equal(result.state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, result.importId, { users: 1 });
  });

  await t.test('is accepted compressed', async () => {
    const bytes = gzipSync(JSON.stringify(bulk(orgId, people('gz', 300))));
    const { body } = await must(service.importBody(bytes, { headers: { 'content-encoding': 'gzip' } }));
    await service.waitForEnd(body.importId);
    await assertEachOnce(service, body.importId, { users: 300 });
  });

  await t.test('fails only the invalid entries, with the path of every invalid field', async () => {
    const wrong: [unknown, string[]][] = [
      [null, ['humanUsers[]']],
      [42, ['humanUsers[]']],
      ['ann', ['humanUsers[]']],
      [[], ['humanUsers[]']],
      [{}, ['user']],
      [{ userId: 'lacks-user' }, ['user']],
      [{ userId: '..', user: null }, ['user', 'userId']],
      [{ user: { userName: '' } }, ['user.email', 'user.profile', 'user.userName']],
      [
        entry('many', {
          profile: { firstName: '', lastName: 'x'.repeat(201), preferredLanguage: 'not a tag', gender: 'GENDER_ROBOT' },
          email: { email: 'Ann <ann@example.com>', isEmailVerified: 'yes' },
          metadata: [
            { key: 'ok', value: 'b2s=' },
            { key: '', value: '?' },
          ],
        }),
        [
          'user.email.email',
          'user.email.isEmailVerified',
          'user.metadata[1].key',
          'user.metadata[1].value',
          'user.profile.firstName',
          'user.profile.gender',
          'user.profile.lastName',
          'user.profile.preferredLanguage',
        ],
      ],
      [entry('state', {}, { state: 'USER_STATE_DELETED' }), ['state']],
      [entry('nul', { userName: 'nul\0' }), ['user.userName']],
      [entry('both', { password: 'p' }), ['user.password']],
      [entry('hash', { hashedPassword: { value: '$2b$99$x' } }), ['user.hashedPassword.value']],
      [entry('unknown-hash', { hashedPassword: { value: '$7$C6..../....salt' } }), ['user.hashedPassword.value']],
      [entry('factor', { otpCode: 'secret' }), ['user.otpCode']],
      [entry('passkey', { requestPasswordlessRegistration: 'yes' }), ['user.requestPasswordlessRegistration']],
    ];
    const good = [
      ...people('good', 5),
      entry('plain-local', { email: { email: 'a@localhost', isEmailVerified: true } }),
    ];
    const mixed = wrong.flatMap(([one], i) => (good[i] ? [one, good[i]] : [one]));
    const result = await service.imported(bulk(orgId, mixed));
    assert.equal(result.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    assert.deepEqual([result.counts.succeeded, result.counts.failed], [good.length, wrong.length]);
    assert.equal(result.errors.length, wrong.length);

    const path = `/admin/v1/imports/${result.importId}/items?state=ITEM_STATE_FAILED`;
    const { items } = (await service.call('GET', path)).body;
    for (const [i, [one, fields]] of wrong.entries()) {
      const { error } = items[i];
      assert.equal(error.code, 3);
      const violations: { field: string }[] = error.details.flatMap(
        (d: { fieldViolations?: unknown[] }) => d.fieldViolations ?? [],
      );
      assert.deepEqual(violations.map((v) => v.field).sort(), fields, JSON.stringify(one));
      for (const field of fields) assert.ok(result.errors[i].message.includes(field), result.errors[i].message);
    }
    assert.match(result.errors[12].message, /bcrypt.*99/);
    assert.match(result.errors[13].message, /\$7\$/);
  });

  await t.test('ends at once when every entry is invalid', async () => {
    const answer = await service.importBody(bulk(orgId, [null, 1, {}]));
    assert.equal(answer.status, 202);
    assert.equal(answer.body.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    assert.deepEqual([answer.body.counts.total, answer.body.counts.failed], [3, 3]);
  });

  await t.test('warns of unknown fields, and fails their users when it is strict', async () => {
    const users = [entry('w1', { favouriteColour: 'red' }), entry('w2', { favouriteColour: 'blue' }), entry('w3')];
    const body = { ...bulk(orgId, users), origin: 'elsewhere' };
    const result = await service.imported(body);
    assert.equal(result.state, 'IMPORT_STATE_SUCCEEDED');
    assert.deepEqual(pathsOf(result.warnings), {
      origin: 1,
      'orgs[].humanUsers[].user.favouriteColour': 2,
    });
    const strict = await must(service.importBody(bulk(orgId, people('s', 2, { foo: 1 })), { query: '?strict=true' }));
    const refused = await service.waitForEnd(strict.body.importId);
    assert.deepEqual([refused.counts.failed, refused.counts.succeeded], [2, 0]);
    assert.match(refused.errors[0].message, /user\.foo/);
  });

  await t.test('lets the first of two equal users win, within the body and against existing users', async () => {
    await service.imported(bulk(orgId, [entry('there')]));
    const twice = [
      entry('first'),
      { ...entry('other-name'), userId: 'id-first' },
      { ...entry('FIRST'), userId: 'another-id' },
      entry('there'),
      { ...entry('There'), userId: 'yet-another-id' },
      ...people('between', 300),
      entry('between7'),
    ];
    const result = await service.imported(bulk(orgId, twice));
    assert.deepEqual([result.counts.succeeded, result.counts.failed], [301, 5]);
    const { items } = (await service.call('GET', `/admin/v1/imports/${result.importId}/items?state=FAILED`)).body;
    assert.deepEqual(
      items.map((i: { index: number; error: { code: number } }) => [i.index, i.error.code]),
      [1, 2, 3, 4, 305].map((index) => [index, 6]),
    );
    await assertEachOnce(service, result.importId, { users: 301 });
  });

  await t.test('may contain a name that another organization has; the first user keeps the bare name', async () => {
    const second = await service.newOrg();
    await service.imported(bulk(orgId, [entry('shared')]));
    const one = await service.imported(bulk(second.orgId, [{ ...entry('shared'), userId: 'second-shared' }]));
    assert.equal(one.state, 'IMPORT_STATE_SUCCEEDED');
    for (const [name, userId] of [
      ['shared', 'id-shared'],
      [`shared@${second.domain}`, 'second-shared'],
    ] as const) {
      const { sessionId } = (await must(service.login(name, OLD_PASSWORD))).body;
      const { session } = (await must(service.call('GET', `/v2beta/sessions/${sessionId}`))).body;
      assert.equal(session.factors.user.id, userId);
    }
  });

  await t.test('stores metadata and links to providers', async () => {
    const idps = [{ configId: 'google', externalUserId: 'ann@gmail', displayName: 'Ann' }];
    const metadata = [{ key: 'plan', value: Buffer.from('gold ✓').toString('base64') }];
    await service.imported(bulk(orgId, [entry('extras', { idps, metadata })]));
    const { rows } = await service.pool.query(
      `select convert_from(m.value, 'UTF8') as plan, l.idp_id, l.external_user_id, l.display_name
       from metadata m join user_idp_links l using (user_id) where user_id = 'id-extras' and m.key = 'plan'`,
    );
    assert.deepEqual(rows, [{ plan: 'gold ✓', idp_id: 'google', external_user_id: 'ann@gmail', display_name: 'Ann' }]);
  });

  await t.test('is accepted exactly as published, and the answer names the unknown fields', async () => {
    const text = await fixture('bulk_snake_data_orgs.json');
    const { orgId: publishedOrg, humanUsers } = JSON.parse(text).data_orgs.orgs[0];
    await must(
      service.call('POST', '/admin/v1/orgs/_setup', {
        org: { name: 'Analytical Engines', orgId: publishedOrg },
        human: {
          userName: 'owner',
          profile: { firstName: 'Olga', lastName: 'Owner' },
          email: { email: 'olga@engines.example', isEmailVerified: true },
          password: 'correct horse',
        },
      }),
    );
    const result = await service.imported(text);
    assert.equal(result.state, 'IMPORT_STATE_SUCCEEDED');
    assert.equal(result.timeout, '15m');
    assert.deepEqual(pathsOf(result.warnings), {
      'orgs[].org': 1,
      'orgs[].humanUsers[].user.hashedPassword.algorithm': 2,
    });
    const ids = humanUsers.map((u: { userId: string }) => u.userId);
    assert.deepEqual(result.success.orgs, [{ orgId: publishedOrg, humanUserIds: ids }]);
    await assertEachOnce(service, result.importId, { users: 3, mails: 1 });
    assert.deepEqual(
      service.smtp.mails.map((m) => m.to),
      [['mary.e@engines.example']],
    );
    assert.equal((await service.login('ada@engines', 'acme rocket')).status, 201);
    assert.equal((await service.login('charles', 'tnt-and-anvils')).status, 201);
  });

  await t.test('of a single import is refused for an invalid second factor, and accepted without it', async () => {
    const { otpCode, ...user } = JSON.parse(await fixture('single_human_user.json'));
    const send = (body: unknown) => service.call('POST', '/management/v1/users/human/_import', body, { orgId });
    const refused = await send({ ...user, otpCode });
    assert.equal(refused.status, 400);
    for (const query of ['dryRun=true', 'strict=true', 'onExisting=skip', 'mails=none', 'colour=blue']) {
      const path = `/management/v1/users/human/_import?${query}`;
      const other = await service.call('POST', path, user, { orgId });
      assert.deepEqual([other.status, errorId(other)], [400, 'IMPORT-QUERY'], query);
    }
    assert.deepEqual(
      refused.body.details[1].fieldViolations.map((v: { field: string }) => v.field),
      ['otpCode'],
    );
    const { status, body } = await send(user);
    assert.equal(status, 200);
    assert.deepEqual(pathsOf(body.warnings), { 'hashedPassword.algorithm': 1 });
    assert.equal((await service.login('grace@compilers', 'meep meep')).status, 201);
  });
});

function pathsOf(warnings: { path: string; count: number }[]): Record<string, number> {
  return Object.fromEntries(warnings.map((w) => [w.path, w.count]));
}

/** The longest values that the limits of the API allow can be stored, found and read. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { nameKey } from '../../../src/platform/fields.ts';
import { startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

let drawn = 1;
/** The same in every run, and not compressible by PostgreSQL. */
function draw(below: number): number {
  drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((drawn / 2 ** 32) * below);
}

/** `length` characters of four bytes. */
function astral(length = 200): string {
  return String.fromCodePoint(...Array.from({ length }, () => 0x20000 + draw(0xe0000)));
}

/** Characters with the longest comparison form: 52 of up to 12 bytes. */
const GROWING = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => Buffer.byteLength(nameKey(character)) > 4);

function growing(length: number, atLeast = 5): string {
  const from = GROWING.filter((character) => Buffer.byteLength(nameKey(character)) >= atLeast);
  return Array.from({ length }, () => from[draw(from.length)]).join('');
}

const NAMES = {
  'characters of four bytes': () => astral(),
  'characters whose key is longer': () => growing(200),
  'characters whose key is the longest': () => growing(200, 12),
  'as little repetition as they allow': () => `${astral(150)}${growing(50)}`,
};

for (const [what, make] of Object.entries(NAMES)) {
  test(`a user with ids and names of ${what}`, async () => {
    const orgId = astral();
    assert.equal((await api.call('POST', '/management/v1/orgs', { orgId, name: make() })).status, 200);
    const [userId, username, givenName] = [astral(), make(), make()];
    const created = await api.call('POST', '/v2beta/users/human', {
      userId,
      username,
      organization: { orgId },
      profile: { givenName, familyName: make(), nickName: make(), displayName: make() },
      email: { email: `${growing(198, 12)}@a`, isVerified: true },
      password: { password: make() },
      metadata: [{ key: astral(), value: 'YQ==' }],
      idpLinks: [{ idpId: astral(), userId: astral(), userName: astral() }],
    });
    assert.deepEqual([created.status, created.body.userId], [200, userId]);
    const { body } = await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`);
    assert.deepEqual([body.user.username, body.user.human.profile.givenName], [username, givenName]);
    const found = await api.call('POST', '/v2beta/users', { queries: [{ userNameQuery: { userName: username } }] });
    assert.equal(found.body.details.totalResult, '1');
    const renamed = await api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, { username: make() });
    assert.equal(renamed.status, 200);
    const member = { userId, roles: ['IAM_OWNER'] };
    assert.equal((await api.call('POST', '/admin/v1/members', member)).status, 200);
  });
}

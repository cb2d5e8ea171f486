/** Users of WorkOS: its own metadata and the external id. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { workos } from '../../../src/sources/systems/workos.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(workos, record);

test('metadata and external id are kept', () => {
  const person = convert({
    object: 'user',
    id: 'user_1',
    email: 'a@example.com',
    external_id: 'f1',
    metadata: { plan: 'x' },
  });
  assert.deepEqual(person.metadata, { plan: 'x', external_id: 'f1' });
});

test('identities become links, a second factor is noted, memberships and the picture are kept', () => {
  const person = convert({
    object: 'user',
    id: 'user_1',
    email: 'a@example.com',
    profile_picture_url: 'https://example.com/ann.png',
    identities: [{ idp_id: '77', type: 'OAuth', provider: 'GoogleOAuth' }],
    auth_factors: [{ id: 'auth_factor_1', type: 'totp' }],
    organization_memberships: [{ organization_id: 'org_1', role: { slug: 'admin' } }],
  });
  assert.deepEqual(person.links, [{ provider: 'GoogleOAuth', externalUserId: '77' }]);
  assert.deepEqual(person.oldSignIn?.ways, ['provider']);
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST']);
  assert.deepEqual(person.metadata, {
    picture: 'https://example.com/ann.png',
    organization_memberships: [{ organization_id: 'org_1', role: { slug: 'admin' } }],
  });
});

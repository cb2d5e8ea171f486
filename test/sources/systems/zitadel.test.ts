/** Users of ZITADEL in its import, its export and its searches, in both spellings. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toEntry } from '../../../src/sources/entry.ts';
import { JsonScanner } from '../../../src/sources/read/json.ts';
import type { Fields, JsonPath } from '../../../src/sources/source.ts';
import { zitadel } from '../../../src/sources/systems/zitadel.ts';
import { CONTEXT } from '../../../src/sources/values.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(zitadel, record);
const b64 = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64');

const ANN = {
  userName: 'ann',
  profile: {
    firstName: 'Ann',
    lastName: 'Ash',
    nickName: 'Annie',
    displayName: 'Ann Ash',
    preferredLanguage: 'de',
    gender: 'GENDER_FEMALE',
  },
  email: { email: 'ann@example.com', isEmailVerified: true },
  phone: { phone: '+41791234567', isPhoneVerified: true },
  hashedPassword: { value: '$2a$04$x', algorithm: 'bcrypt' },
  passwordChangeRequired: true,
  otpCode: 'JBSWY3DPEHPK3PXP',
  metadata: [{ key: 'plan', value: b64('gold') }],
  idps: [{ configId: 'c-1', externalUserId: 'x-1', displayName: 'Ann' }],
};
const PERSON = {
  orgId: 'o-1',
  userId: 'u-1',
  userName: 'ann',
  email: 'ann@example.com',
  emailVerified: true,
  firstName: 'Ann',
  lastName: 'Ash',
  nickName: 'Annie',
  displayName: 'Ann Ash',
  language: 'de',
  gender: 'GENDER_FEMALE',
  phone: '+41791234567',
  phoneVerified: true,
  hash: '$2a$04$x',
  passwordChangeRequired: true,
  totp: 'JBSWY3DPEHPK3PXP',
  metadata: { plan: 'gold' },
  links: [{ provider: 'c-1', externalUserId: 'x-1', displayName: 'Ann' }],
  oldSignIn: { ways: ['password', 'provider'] },
  notes: [],
};

/** Converts a document's names to those in the protocol buffers, as some programs write them. */
function snakeCased(value: unknown): unknown {
  const text = JSON.stringify(value);
  return JSON.parse(
    text.replace(/"([A-Za-z]+)":/g, (_, name: string) => `"${name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)}":`),
  );
}

describe('a user in an import of ZITADEL', () => {
  it('is converted completely, in both spellings, with the surrounding organization', () => {
    const record = { [CONTEXT]: { orgId: 'o-1' }, userId: 'u-1', user: ANN };
    assert.deepEqual(convert(record), PERSON);
    assert.deepEqual(
      convert({ ...(snakeCased({ userId: 'u-1', user: ANN }) as Fields), [CONTEXT]: { org_id: 'o-1' } }),
      PERSON,
    );
    assert.deepEqual(convert({ orgId: 'o-1', userId: 'u-1', user: ANN }), PERSON);
  });

  it('is found wherever imports and the export have people, and nothing else is', () => {
    const orgs = [
      { orgId: 'o-1', machineUsers: [{ userId: 'm-1', user: {} }], humanUsers: [{ userId: 'u-1', user: ANN }] },
    ];
    const documents: unknown[] = [{ timeout: '10m', dataOrgs: { orgs } }, { orgs }];
    for (const document of [...documents, ...documents.map(snakeCased)]) {
      const scanner = new JsonScanner(zitadel.jsonPaths as JsonPath[]);
      const records = [...scanner.push(Buffer.from(JSON.stringify(document))), ...scanner.end()].flat();
      assert.deepEqual(
        records.map(({ value }) => convert(value as Fields)),
        [PERSON],
      );
    }
  });

  it('is unverified by default, because protocol buffers omit false values', () => {
    const person = convert({ user: { ...ANN, email: { email: 'ann@example.com' }, phone: { phone: '+41' } } });
    assert.equal(person.emailVerified, false);
    assert.equal(person.phoneVerified, undefined);
  });

  it('has the given language and gender, and none if unspecified', () => {
    const person = convert({ user: { ...ANN, profile: { preferredLanguage: 'und', gender: 'GENDER_UNSPECIFIED' } } });
    assert.equal(person.language, undefined);
    assert.equal(person.gender, undefined);
  });

  it('keeps metadata exactly: text, bytes that are not text, and values that are not base64', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00]);
    const metadata = [
      { key: 'text', value: b64('☂') },
      { key: 'bytes', value: b64(bytes) },
      { key: 'odd', value: 'not base64' },
      { key: 'snake_key', value: b64('x') },
      { key: '__proto__', value: b64('x') },
    ];
    const kept = convert({ user: { metadata } }).metadata ?? {};
    assert.deepEqual(Object.keys(kept), ['text', 'bytes', 'odd', 'snake_key', '__proto__']);
    assert.equal(kept.text, '☂');
    assert.deepEqual(kept.bytes, bytes);
    assert.equal(kept.odd, 'not base64');
  });

  it('keeps a plain password including trailing spaces, even next to a hash, which the service rejects', () => {
    const person = convert({ user: { ...ANN, password: ' x ' } });
    assert.equal(person.password, ' x ');
    assert.equal(person.hash, '$2a$04$x');
  });

  it('passes the wish for a passkey on', () => {
    for (const requestPasswordlessRegistration of [true, false]) {
      const person = convert({ user: { ...ANN, requestPasswordlessRegistration } });
      assert.deepEqual([person.wantsPasskey, noteIds(person)], [requestPasswordlessRegistration || undefined, []]);
      const { user } = toEntry(person, 'o').entry;
      assert.equal(user.requestPasswordlessRegistration, requestPasswordlessRegistration || undefined);
    }
  });

  it('may be the body of a single import', () => {
    const { orgId, userId, ...person } = PERSON;
    assert.deepEqual(convert(ANN), person);
    assert.deepEqual([orgId, userId], ['o-1', 'u-1']);
  });

  it('may be nested without limit', () => {
    const deep = JSON.parse(`${'{"user":'.repeat(50_000)}{}${'}'.repeat(50_000)}`);
    assert.equal(convert({ userId: 'u-1', user: deep }).userId, 'u-1');
    assert.equal(zitadel.recognizes({ user: deep }, 'json'), 0);
  });

  it('keeps its state, and is skipped if deleted', () => {
    const stateOf = (state: string) => convert({ state, user: ANN }).state;
    assert.equal(stateOf('USER_STATE_INACTIVE'), 'inactive');
    assert.equal(stateOf('USER_STATE_SUSPEND'), 'inactive');
    assert.equal(stateOf('USER_STATE_LOCKED'), 'locked');
    assert.equal(stateOf('USER_STATE_INITIAL'), undefined);
    assert.ok('skip' in zitadel.converter({})({ state: 'USER_STATE_DELETED', user: ANN }));
  });
});

describe('a user in a search of ZITADEL', () => {
  it('of version 2 is converted, without a hash', () => {
    const person = convert({
      userId: 'u-2',
      details: { sequence: '2', resourceOwner: 'o-2' },
      state: 'USER_STATE_LOCKED',
      username: 'bob',
      loginNames: ['bob@acme'],
      human: {
        profile: { givenName: 'Bob', familyName: 'Bly', displayName: 'Bob Bly' },
        email: { email: 'bob@example.com', isVerified: true },
        phone: { phone: '+41791234567' },
      },
    });
    assert.deepEqual(person, {
      orgId: 'o-2',
      userId: 'u-2',
      userName: 'bob',
      email: 'bob@example.com',
      emailVerified: true,
      firstName: 'Bob',
      lastName: 'Bly',
      displayName: 'Bob Bly',
      phone: '+41791234567',
      state: 'locked',
      metadata: {},
      links: [],
      notes: [],
    });
  });

  it('of version 1 is converted too', () => {
    const human = {
      profile: { firstName: 'Cat', lastName: 'Coe' },
      email: { email: 'cat@example.com', isEmailVerified: true },
    };
    const person = convert({ id: 'u-3', userName: 'cat', state: 'USER_STATE_ACTIVE', human });
    assert.deepEqual(
      [person.userId, person.userName, person.firstName, person.emailVerified],
      ['u-3', 'cat', 'Cat', true],
    );
  });

  it('that is a machine is skipped', () => {
    const machine = { userId: 'm-1', loginNames: ['bot@acme'], machine: { name: 'Bot' } };
    assert.ok('skip' in zitadel.converter({})(machine));
    assert.equal(zitadel.recognizes(machine, 'json'), 0.9);
  });
});

describe('a body of version 2 that creates a user', () => {
  const BODY = {
    userId: 'u-4',
    username: 'dan',
    organization: { orgId: 'o-1' },
    profile: { givenName: 'Dan', familyName: 'Dow' },
    email: { email: 'dan@example.com', isVerified: true },
    idpLinks: [{ idpId: 'idp-1', userId: '77', userName: 'dan@idp.example' }],
    totpSecret: 'JBSWY3DPEHPK3PXP',
  };

  it('is converted with its organization, hash, link and second factor', () => {
    const hash = '$2b$04$x';
    const person = convert({ ...BODY, hashedPassword: { hash, changeRequired: true } });
    assert.deepEqual(person, {
      orgId: 'o-1',
      userId: 'u-4',
      userName: 'dan',
      email: 'dan@example.com',
      emailVerified: true,
      firstName: 'Dan',
      lastName: 'Dow',
      hash,
      passwordChangeRequired: true,
      totp: 'JBSWY3DPEHPK3PXP',
      metadata: {},
      links: [{ provider: 'idp-1', externalUserId: '77', displayName: 'dan@idp.example' }],
      oldSignIn: { ways: ['password', 'provider'] },
      notes: [],
    });
  });

  it('may have a plain password', () => {
    const person = convert({ ...BODY, password: { password: 'correct horse', changeRequired: false } });
    assert.deepEqual([person.password, person.passwordChangeRequired], ['correct horse', undefined]);
  });
});

describe('recognizing ZITADEL', () => {
  it("uses a user's structure", () => {
    assert.equal(zitadel.recognizes({ user: ANN }, 'json'), 1);
    assert.equal(zitadel.recognizes(snakeCased({ user: ANN }) as Fields, 'json'), 1);
    assert.equal(zitadel.recognizes({ human: { profile: {} } }, 'json'), 1);
    assert.equal(zitadel.recognizes(ANN, 'json'), 0.9);
    assert.equal(zitadel.recognizes({ id: '1', profile: { login: 'a', email: 'a@example.com' } }, 'json'), 0);
    assert.equal(zitadel.recognizes({ recipeId: 'emailpassword', user: { email: 'a@example.com' } }, 'json'), 0);
  });
});

describe('the methods of a user of ZITADEL', () => {
  const of = (...methods: string[]) => {
    const authMethodTypes = methods.map((method) => `AUTHENTICATION_METHOD_TYPE_${method}`);
    return convert({ userId: '1', human: { profile: {} }, authMethodTypes });
  };
  const notesOf = (...methods: string[]) => of(...methods).notes?.map(({ id }) => id);

  it('tell what is lost, and how the user signed in', () => {
    assert.deepEqual(notesOf('PASSWORD', 'TOTP'), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf('PASSKEY'), ['PASSKEY-LOST']);
    assert.deepEqual(notesOf('OTP_EMAIL', 'RECOVERY_CODE'), ['SECOND-FACTOR-LOST', 'RECOVERY-CODES-LOST']);
    assert.deepEqual(of('PASSWORD', 'IDP', 'PASSKEY').oldSignIn?.ways, ['password', 'provider', 'passkey']);
    assert.equal(of('PASSWORD').oldSignIn, undefined);
  });

  it('and grants and the picture are kept', () => {
    const userGrants = [{ projectId: 'p', roleKeys: ['admin'] }];
    const profile = { avatarUrl: 'https://example.com/ann.png' };
    const { metadata } = convert({ userId: '1', human: { profile }, userGrants });
    assert.deepEqual(metadata, { userGrants, picture: 'https://example.com/ann.png' });
  });
});

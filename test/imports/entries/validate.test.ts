import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PASSWORD_PURPOSE } from '../../../src/imports/entries/item.ts';
import { entry, HASH, SECRETS } from '../../support/imports/imports.ts';
import { judge, pendingOf, problemsOf } from '../../support/imports/judge.ts';

/** A character of two UTF-16 code units and four bytes. */
const WIDE = '😀';
const PROFILE = { firstName: 'Ann', lastName: 'Arbor' };
const EMAIL = { email: 'ann@example.com' };

/** Every string field: its path, its maximum of code points, whether it may be empty, and a user with it. */
const TEXTS: [string, number, boolean, (text: string) => Record<string, unknown>][] = [
  ['user.userName', 200, false, (userName) => ({ userName })],
  ['user.profile.firstName', 200, false, (firstName) => ({ profile: { ...PROFILE, firstName } })],
  ['user.profile.lastName', 200, false, (lastName) => ({ profile: { ...PROFILE, lastName } })],
  ['user.profile.nickName', 200, true, (nickName) => ({ profile: { ...PROFILE, nickName } })],
  ['user.profile.displayName', 200, true, (displayName) => ({ profile: { ...PROFILE, displayName } })],
  ['user.phone.phone', 200, true, (phone) => ({ phone: { phone } })],
  ['user.password', 200, false, (password) => ({ password, hashedPassword: undefined })],
  ['user.metadata[0].key', 200, false, (key) => ({ metadata: [{ key, value: 'QQ==' }] })],
  ['user.idps[0].configId', 200, false, (configId) => ({ idps: [{ configId, externalUserId: '1' }] })],
  ['user.idps[0].externalUserId', 200, false, (externalUserId) => ({ idps: [{ configId: 'c', externalUserId }] })],
  [
    'user.idps[0].displayName',
    200,
    true,
    (displayName) => ({ idps: [{ configId: 'c', externalUserId: '1', displayName }] }),
  ],
];

describe('string fields', () => {
  for (const [path, max, mayBeEmpty, user] of TEXTS) {
    it(`${path}: ${mayBeEmpty ? 0 : 1} to ${max} characters, without NUL and lone surrogates`, () => {
      assert.deepEqual(problemsOf(user(WIDE.repeat(max))), []);
      assert.deepEqual(problemsOf(user(WIDE.repeat(max) + WIDE)), [`${path}: must have at most ${max} characters`]);
      assert.deepEqual(problemsOf(user('x'.repeat(max + 1))), [`${path}: must have at most ${max} characters`]);
      assert.deepEqual(problemsOf(user('')), mayBeEmpty ? [] : [`${path}: must not be empty`]);
      assert.deepEqual(problemsOf(user('a\0b')), [`${path}: must not contain NUL`]);
      assert.deepEqual(problemsOf(user('a\ud800b')), [`${path}: must not contain a lone surrogate`]);
      if (path === 'user.userName') {
        assert.deepEqual(problemsOf(user('a\tb')), [`${path}: must not contain the invisible character U+0009`]);
      } else assert.deepEqual(problemsOf(user(' \t\n\\N"')), []);
      for (const other of [7, true, [], {}]) {
        assert.deepEqual(problemsOf(user(other as unknown as string)), [`${path}: must be a string`]);
      }
    });
  }

  it('userId: 1 to 200 printable characters, but not . or ..', () => {
    const withId = (userId: unknown) => judge({ ...entry('a'), userId });
    for (const id of ['auth0|60425dc4', 'a:b@c/d e', '..a', WIDE.repeat(200), 'ž'])
      assert.deepEqual(withId(id).problems, []);
    for (const id of ['', '.', '..', 'a\tb', 'a\nb', '\x7f', '\0', WIDE.repeat(201), '\udfff']) {
      const { problems } = withId(id);
      assert.deepEqual([problems.length, problems[0]?.startsWith('userId: must')], [1, true], JSON.stringify(id));
    }
    assert.deepEqual(withId(7).problems, ['userId: must be a string']);
  });

  it('metadata: base64, padded or not, up to 500,000 characters', () => {
    const withValue = (value: unknown) => problemsOf({ metadata: [{ key: 'k', value }] });
    for (const good of ['QQ', 'QQ==', 'QUI', 'QUI=', 'QUJD', '+/+/', 'QUJD'.repeat(125_000)])
      assert.deepEqual(withValue(good), [], good.slice(0, 9));
    for (const bad of ['Q', 'QQ=', 'QUI==', 'QUJD=', 'QUJDQ', '=', '====', '-_-_', 'QU JD', 'QUJD\n', 'žžžž', 'Q=Q=']) {
      assert.deepEqual(withValue(bad), ['user.metadata[0].value: must be base64'], bad);
    }
    assert.deepEqual(withValue(''), ['user.metadata[0].value: must not be empty']);
    assert.deepEqual(withValue('QUJD'.repeat(125_001)), [
      'user.metadata[0].value: must have at most 500000 characters',
    ]);
    assert.deepEqual(withValue('QUJD'.repeat(2_000_000)), [
      'user.metadata[0].value: must have at most 500000 characters',
    ]);
    assert.deepEqual(withValue(undefined), ['user.metadata[0].value: is required']);
    assert.deepEqual(withValue(1), ['user.metadata[0].value: must be a string']);
  });

  it('preferredLanguage: a language tag of up to 10 characters, or nothing', () => {
    const withTag = (preferredLanguage: unknown) => problemsOf({ profile: { ...PROFILE, preferredLanguage } });
    for (const tag of ['', 'en', 'de-CH', 'zh-Hant-TW', 'i-klingon']) assert.deepEqual(withTag(tag), [], tag);
    for (const tag of ['de_CH', 'de-', '-', 'e n', '1', 'zh-Hant-TWN', 'žž', 7]) {
      assert.deepEqual(withTag(tag).length, 1, String(tag));
      assert.match(withTag(tag)[0] ?? '', /^user\.profile\.preferredLanguage: must/);
    }
  });
});

describe('other values', () => {
  it('booleans must be booleans', () => {
    const bad = {
      profile: PROFILE,
      email: { ...EMAIL, isEmailVerified: 'true' },
      phone: { phone: '1', isPhoneVerified: 0 },
      passwordChangeRequired: [],
    };
    assert.deepEqual(problemsOf(bad), [
      'user.email.isEmailVerified: must be true or false',
      'user.phone.isPhoneVerified: must be true or false',
      'user.passwordChangeRequired: must be true or false',
    ]);
  });

  it('states and genders are given by name', () => {
    for (const [state, stored] of [
      ['ACTIVE', 'active'],
      ['INACTIVE', 'inactive'],
      ['LOCKED', 'locked'],
    ] as const) {
      assert.equal(pendingOf(entry('a', {}, { state: `USER_STATE_${state}` })).userState, stored);
    }
    for (const state of ['USER_STATE_INITIAL', 'USER_STATE_UNSPECIFIED', 'active', '', 1, []]) {
      assert.match(judge({ ...entry('a'), state }).problems.join(), /^state: must be one of USER_STATE_ACTIVE/);
    }
    const genders = ['GENDER_UNSPECIFIED', 'GENDER_FEMALE', 'GENDER_MALE', 'GENDER_DIVERSE'];
    for (const [i, gender] of genders.entries())
      assert.equal(pendingOf(entry('a', { profile: { ...PROFILE, gender } })).gender, i);
    for (const gender of ['FEMALE', 1, '']) {
      assert.match(problemsOf({ profile: { ...PROFILE, gender } }).join(), /^user\.profile\.gender: must be one of/);
    }
  });

  it('keeps the wish for a passkey of new users only where it is said', () => {
    const wish = (requestPasswordlessRegistration: unknown) =>
      pendingOf(entry('a', { requestPasswordlessRegistration })).extras;
    assert.deepEqual(wish(true), { metadata: [], idps: [], wantsPasskey: true });
    assert.deepEqual([wish(false), wish(null), wish(undefined)], [null, null, null]);
    assert.equal(problemsOf({ requestPasswordlessRegistration: 'true' }).length, 1);
  });

  it('a metadata key or a link must not be given twice', () => {
    const [one, two] = [
      { key: 'a', value: 'QQ==' },
      { key: 'A', value: 'QQ==' },
    ];
    assert.deepEqual(problemsOf({ metadata: [one, two, one, one] }), [
      'user.metadata[2].key: is given twice',
      'user.metadata[3].key: is given twice',
    ]);
    const link = (configId: string, externalUserId: string) => ({ configId, externalUserId });
    assert.deepEqual(problemsOf({ idps: [link('a', '1'), link('a', '2'), link('b', '1'), link('a', '1')] }), [
      'user.idps[3].externalUserId: is given twice',
    ]);
  });

  it('a list of ten thousand elements is accepted; a longer one is refused without reading its elements', () => {
    const list = (length: number) => Array.from({ length }, (_, i) => ({ key: `k${i}`, value: 'QQ==' }));
    assert.deepEqual(problemsOf({ metadata: list(10_000) }), []);
    assert.deepEqual(problemsOf({ metadata: list(10_001) }), ['user.metadata: must have at most 10000 elements']);
    assert.deepEqual(problemsOf({ idps: Array(1_000_000).fill(1) }), ['user.idps: must have at most 10000 elements']);
    assert.deepEqual(problemsOf({ metadata: Array(1_000_000).fill(list(1)[0]) }), [
      'user.metadata: must have at most 10000 elements',
    ]);
  });
});

describe('passwords', () => {
  it('are either plain or hashed, not both', () => {
    assert.deepEqual(problemsOf({ password: 'secret' }), [
      'user.password: must not be given together with hashedPassword',
    ]);
    const { passwordHash, passwordSealed } = pendingOf(entry('a', { password: 'sec ret', hashedPassword: null }));
    assert.equal(passwordHash, null);
    assert.equal(SECRETS.unseal(passwordSealed ?? '', PASSWORD_PURPOSE), 'sec ret');
    assert.throws(() => SECRETS.unseal(passwordSealed ?? '', 'something else'));
    assert.equal(pendingOf(entry('a')).passwordHash, HASH);
  });

  it('that are hashes must use a supported scheme; the message names the scheme, never the hash', () => {
    const hashes: [string, RegExp][] = [
      ['$2b$31$7dJ3oGrugpNa9ehEuDgAduCifOSXx3xu9QwRL9i7yBhIgwDExuFwy', /^user\.hashedPassword\.value: bcrypt: .*cost/],
      ['$2b$04$tooShort', /bcrypt/],
      ['$7$SECRETSALT$SECRETHASH', /unknown scheme "\$7\$"/],
      ['SECRETPLAINTEXT', /unknown scheme/],
      ['{SSHA}SECRETSALT', /\{SSHA\}: the hash is shorter than 20 bytes/],
      ['{FOO}SECRETSALT', /unknown scheme "\{FOO\}"/],
      ['$argon2id$v=19$m=9999999999,t=3,p=1$SECRETSALT$SECRETHASH', /argon2id/],
    ];
    for (const [value, message] of hashes) {
      const { item, problems } = judge(entry('a', { hashedPassword: { value } }));
      assert.equal(problems.length, 1, value);
      assert.match(problems[0] ?? '', message);
      assert.doesNotMatch(JSON.stringify(item), /SECRET|tooShort|7dJ3oGr/);
    }
    assert.deepEqual(problemsOf({ hashedPassword: {} }), ['user.hashedPassword.value: is required']);
    assert.deepEqual(problemsOf({ hashedPassword: { value: '' } }), ['user.hashedPassword.value: must not be empty']);
    assert.deepEqual(problemsOf({ hashedPassword: { value: `$2b$${WIDE.repeat(200)}` } }), [
      'user.hashedPassword.value: must have at most 200 characters',
    ]);
  });

  it('never appear in an error', () => {
    const { item } = judge(entry('a', { password: 'hunter2'.repeat(100), profile: {}, email: {} }));
    assert.doesNotMatch(JSON.stringify(item), /hunter2/);
    assert.ok(!JSON.stringify(item).includes(HASH));
  });
});

describe('a phone number', () => {
  it('that is null or empty means that there is none', () => {
    for (const phone of [null, {}, { phone: null }, { phone: '' }, { phone: '', isPhoneVerified: true }]) {
      const item = pendingOf({ user: { profile: PROFILE, email: EMAIL, phone } });
      assert.deepEqual([item.phone, item.phoneVerified], [null, false], JSON.stringify(phone));
    }
  });
});

describe('an omitted field', () => {
  it('gets its default', () => {
    const item = pendingOf({ user: { profile: PROFILE, email: { email: 'Ann@Example.com' } } });
    assert.match(item.userId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(item.userId, pendingOf({ user: { profile: PROFILE, email: EMAIL } }).userId);
    const { userId: _, ...rest } = item;
    assert.deepEqual(rest, {
      state: 'pending',
      userName: 'Ann@Example.com',
      userNameKey: 'ann@example.com',
      userState: 'active',
      givenName: 'Ann',
      familyName: 'Arbor',
      nickName: '',
      displayName: 'Ann Arbor',
      preferredLanguage: '',
      gender: 0,
      email: 'Ann@Example.com',
      emailKey: 'ann@example.com',
      emailVerified: false,
      phone: null,
      phoneVerified: false,
      passwordHash: null,
      passwordSealed: null,
      totpSealed: null,
      passwordChangeRequired: false,
      extras: null,
      oldSignIn: null,
      error: null,
    });
    assert.equal(pendingOf(entry('a', { profile: { ...PROFILE, displayName: '' } })).displayName, 'Ann Arbor');
    const long = { firstName: '😀'.repeat(200), lastName: 'x' };
    assert.equal(pendingOf(entry('a', { profile: long })).displayName, long.firstName, 'cut to 200 characters');
    assert.deepEqual(pendingOf(entry('a', { idps: [{ configId: 'c', externalUserId: '1' }] })).extras, {
      metadata: [],
      idps: [{ configId: 'c', externalUserId: '1', displayName: '' }],
    });
  });
});

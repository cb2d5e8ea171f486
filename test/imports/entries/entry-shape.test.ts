/** Entries of any shape, with any field names: every problem is named at once, nothing is dropped silently. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entry } from '../../support/imports/imports.ts';
import { judge, pendingOf } from '../../support/imports/judge.ts';

describe('an entry', () => {
  it('that is not an object fails', () => {
    for (const value of [null, 7, true, 'text', '', [], [entry('a')]]) {
      const { item, problems } = judge(value);
      assert.deepEqual([item.state, item.userId, item.userName], ['failed', null, null]);
      assert.deepEqual(problems, ['humanUsers[]: must be an object'], JSON.stringify(value));
    }
  });

  it('without a user fails, and can be identified by the ids it has', () => {
    assert.deepEqual(judge({}).problems, ['user: is required']);
    assert.deepEqual(judge({ userId: 'u', user: null }).problems, ['user: is required']);
    for (const user of [7, 'x', [], [{}]]) assert.deepEqual(judge({ user }).problems, ['user: must be an object']);
    assert.deepEqual(judge({ user: {} }).problems, ['user.profile: is required', 'user.email: is required']);
    const { item } = judge({ userId: 'u\0\ud800', user: { email: { email: 'a@b' } } });
    assert.deepEqual([item.userId, item.userName], ['u\ufffd\ufffd', 'a@b']);
    assert.equal(judge({ userId: '😀'.repeat(500), user: 1 }).item.userId, '😀'.repeat(100));
    assert.equal(judge({ userId: 7, user: { userName: {} } }).item.userName, null);
  });

  it('has all its invalid fields named at once, each with its path', () => {
    const { item, problems } = judge({
      userId: '..',
      state: 'USER_STATE_DELETED',
      user: {
        userName: '',
        profile: { firstName: '', gender: 'X', preferredLanguage: '?' },
        email: { email: 'Ann <ann@example.com>', isEmailVerified: 1 },
        phone: { phone: 7 },
        password: 'secret',
        hashedPassword: { value: '$9$x' },
        metadata: [{ key: 'a', value: 'QQ==' }, { key: '', value: '!' }, null, { key: 'a', value: 'QQ==' }],
        idps: [{ configId: '' }, 7],
        otpCode: '1',
      },
    });
    assert.deepEqual(
      problems.map((p) => p.split(':')[0]).sort(),
      [
        'userId',
        'state',
        'user.userName',
        'user.profile.firstName',
        'user.profile.lastName',
        'user.profile.preferredLanguage',
        'user.profile.gender',
        'user.email.email',
        'user.email.isEmailVerified',
        'user.phone.phone',
        'user.metadata[1].key',
        'user.metadata[1].value',
        'user.metadata[2]',
        'user.idps[0].configId',
        'user.idps[0].externalUserId',
        'user.idps[1]',
        'user.otpCode',
        'user.password',
        'user.hashedPassword.value',
        'user.metadata[3].key',
      ].sort(),
    );
    assert.equal(item.error?.code, 3);
    assert.equal(item.error?.details[0]?.id, 'IMPORT-USER-INVALID');
  });
});

describe('field names', () => {
  it('may be in either spelling, at every level', () => {
    const snake = {
      user_id: 'u',
      user: {
        user_name: 'ann',
        profile: { first_name: 'A', last_name: 'B', nick_name: 'C', display_name: 'D', preferred_language: 'de' },
        email: { email: 'a@b', is_email_verified: true },
        phone: { phone: '1', is_phone_verified: true },
        hashed_password: null,
        password_change_required: true,
        idps: [{ config_id: 'c', external_user_id: 'e', display_name: 'd' }],
        otp_code: '',
        request_passwordless_registration: false,
      },
    };
    const { problems, unknown } = judge(structuredClone(snake));
    assert.deepEqual([problems, unknown], [[], []]);
    const item = pendingOf(snake);
    assert.deepEqual(
      [
        item.userId,
        item.userName,
        item.givenName,
        item.familyName,
        item.nickName,
        item.displayName,
        item.preferredLanguage,
      ],
      ['u', 'ann', 'A', 'B', 'C', 'D', 'de'],
    );
    assert.deepEqual([item.emailVerified, item.phoneVerified, item.passwordChangeRequired], [true, true, true]);
    assert.deepEqual(item.extras?.idps, [{ configId: 'c', externalUserId: 'e', displayName: 'd' }]);
  });

  it('are named in camelCase in errors', () => {
    assert.deepEqual(judge(entry('a', { otp_code: 1 })).problems, ['user.otpCode: must be a string']);
    const { userName: _, ...user } = entry('a').user;
    assert.deepEqual(judge({ user: { ...user, user_name: '' } }).problems, ['user.userName: must not be empty']);
  });

  it('that are unknown become warnings, with their path without indices', () => {
    const { item, unknown } = judge({
      ...entry('a', {
        foo: { bar: 1 },
        hashedPassword: { value: entry('a').user.hashedPassword && '$1$salt$qJH7.N4xYta3aEG/dfqo/0', algorithm: 'md5' },
        metadata: [
          { key: 'a', value: 'QQ==', x: 1 },
          { key: 'b', value: 'QQ==', x: 2, 'y.z': 3 },
        ],
        USERNAME: 'x',
        user__name: 'x',
      }),
      humanUsers: [],
    });
    assert.equal(item.state, 'pending');
    assert.deepEqual(unknown.sort(), [
      'humanUsers',
      'user.USERNAME',
      'user.foo',
      'user.hashedPassword.algorithm',
      'user.metadata[].x',
      'user.metadata[].x',
      'user.metadata[].y.z',
      'user.user__name',
    ]);
  });

  it('given in both spellings: the camelCase one counts, the other becomes a warning', () => {
    const { item, unknown } = judge(entry('camel', { user_name: 'other' }));
    assert.deepEqual([item.userName, unknown], ['camel', ['user.user_name']]);
  });

  it('that are unknown fail the user when the import is strict', () => {
    const extra = { foo: 1, metadata: [{ key: 'a', value: 'QQ==', x: 1 }] };
    const { item, problems, unknown } = judge(entry('a', extra), { strict: true });
    assert.equal(item.state, 'failed');
    assert.deepEqual(problems, ['user.foo: is not a known field', 'user.metadata[].x: is not a known field']);
    assert.deepEqual(unknown, ['user.foo', 'user.metadata[].x']);
    assert.deepEqual(judge(entry('a'), { strict: true }).problems, []);
    const odd = judge(entry('a', { 'a\0\ud800': 1, ['x'.repeat(1000)]: 1 }), { strict: true });
    assert.equal(odd.problems[0], 'user.a\ufffd\ufffd: is not a known field', 'in a form the database can store');
    assert.ok(JSON.stringify(odd.item).length < 5000);
  });

  it('that every JavaScript object has are not special', () => {
    const text = JSON.stringify(entry('a', { constructor: 1, toString: 'x', hasOwnProperty: {} })).replace(
      '"user":{',
      '"__proto__":{"userId":"x"},"user":{"__proto__":{"userName":"evil"},',
    );
    const { item, problems, unknown } = judge(JSON.parse(text));
    assert.deepEqual([item.state, item.userName, item.userId, problems], ['pending', 'a', 'id-a', []]);
    assert.deepEqual(unknown.sort(), [
      '__proto__',
      'user.__proto__',
      'user.constructor',
      'user.hasOwnProperty',
      'user.toString',
    ]);
    assert.deepEqual(Object.keys(Object.prototype), []);
    assert.deepEqual(judge(JSON.parse('{"__proto__":null,"user":{"__proto__":7}}')).problems, [
      'user.profile: is required',
      'user.email: is required',
    ]);
  });

  it('have the alias isVerified where it says that an address or a number is verified', () => {
    for (const isVerified of ['isVerified', 'is_verified']) {
      const given = entry('a', {
        email: { email: 'a@b.c', [isVerified]: true },
        phone: { phone: '+41791234567', [isVerified]: true },
      });
      const { item, problems, unknown } = judge(given, { strict: true });
      assert.deepEqual([problems, unknown], [[], []]);
      assert.partialDeepStrictEqual(item, { emailVerified: true, phoneVerified: true });
      assert.equal(isVerified in given.user.email, false, 'a report returns one name');
    }
    const twice = (isEmailVerified: boolean) =>
      judge(entry('a', { email: { email: 'a@b.c', isVerified: true, isEmailVerified } })).problems;
    assert.deepEqual(twice(true), []);
    assert.deepEqual(twice(false), ['user.email.isVerified: must not differ from isEmailVerified']);
    const wrong = judge(entry('a', { email: { email: 'a@b.c', isVerified: 'yes' } })).problems;
    assert.deepEqual(wrong, ['user.email.isEmailVerified: must be true or false']);
  });

  it('with the value null count as absent', () => {
    const { problems, unknown, item } = judge(
      entry('a', {
        password: null,
        phone: null,
        metadata: null,
        idps: null,
        passwordChangeRequired: null,
        otpCode: null,
      }),
    );
    assert.deepEqual([problems, unknown, item.state], [[], [], 'pending']);
    const { problems: missing } = judge(entry('a', { profile: null, email: { email: null } }));
    assert.deepEqual(missing, ['user.profile: is required', 'user.email.email: is required']);
  });

  it('that are too many to be named are cut to text that PostgreSQL can store', () => {
    for (const first of ['a', 'ab']) {
      const { item } = judge({ [first + '😀'.repeat(148)]: 1, ['😀'.repeat(148)]: 1, ...entry('a') }, { strict: true });
      const { message } = item.error as { message: string };
      assert.ok(message.isWellFormed(), JSON.stringify(message));
    }
  });
});

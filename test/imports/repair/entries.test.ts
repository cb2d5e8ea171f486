/** The pure parts of corrections: causes, remedies, merge patches, and what is shown of an entry. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { causesOf, patchOf } from '../../../src/contract/causes.ts';
import type { Remedy } from '../../../src/contract/remedies.ts';
import { HIDDEN, mergePatch, patchedPaths, readPatch, shownEntry } from '../../../src/imports/repair/entry.ts';
import { hashProblem } from '../../../src/passwords/registry.ts';
import { errorBody } from '../../../src/platform/errors.ts';

const invalid = (...violations: [field: string, description: string][]) =>
  errorBody(
    'INVALID_ARGUMENT',
    'IMPORT-USER-INVALID',
    'invalid',
    violations.map(([field, description]) => ({ field, description })),
  );

test('a cause has the scheme of the hash, without the numbers of its problem and the indices of its field', () => {
  const schemeOf = (hash: string) =>
    causesOf(invalid(['user.hashedPassword.value', hashProblem(hash) as string]))[0]?.scheme;
  assert.equal(schemeOf(`$2e$10$${'a'.repeat(53)}`), '$2e$');
  assert.equal(schemeOf('$argon2$v=19$m=1$a$b'), '$argon2$');
  assert.equal(schemeOf('$foo$bar'), '$foo$');
  assert.equal(schemeOf('no hash at all!'), 'unknown');
  const costly = [31, 30].map((cost) => `$2b$${cost}$${'a'.repeat(53)}`);
  assert.deepEqual(costly.map(schemeOf), ['bcrypt', 'bcrypt']);
  const keys = costly.map(
    (hash) => causesOf(invalid(['user.hashedPassword.value', hashProblem(hash) as string]))[0]?.cause,
  );
  assert.equal(keys[0], keys[1]);
  const twice = causesOf(invalid(['user.metadata[0].value', 'is required'], ['user.metadata[7].value', 'is required']));
  assert.deepEqual([twice.length, twice[0]?.field], [1, 'user.metadata[].value']);
});

test('a remedy changes its field alone, and only where it can help', () => {
  const changed = (remedy: Remedy, user: unknown, domain?: string) => patchOf(remedy, { user }, domain)?.user;
  for (const email of [' A@b.example ', '<a@B.example>', 'MAILTO:a@b.example', '\u200ba@b.example\u00a0\n'])
    assert.deepEqual(changed('trim-email', { email: { email } }), { email: { email: 'a@b.example' } });
  assert.equal(changed('trim-email', { email: { email: 7 } }), undefined);
  // No address; to trim it would take minutes.
  assert.equal(changed('trim-email', { email: { email: `a${' '.repeat(2_000_000)}b` } }), undefined);
  assert.deepEqual(changed('drop-hash', {}), { hashedPassword: null });
  assert.deepEqual(changed('email-as-user-name', { userName: 'x', email: { email: 'a@b.c' } }), { userName: 'a@b.c' });
  assert.equal(changed('email-as-user-name', { userName: 'a@b.c', email: { email: 'a@b.c' } }), undefined);
  assert.deepEqual(changed('user-name-as-email', { userName: ' fay ' }, 'b.c'), { email: { email: 'fay@b.c' } });
  assert.deepEqual(changed('user-name-as-email', { userName: 'fay@d.e' }, 'b.c'), { email: { email: 'fay@d.e' } });
  assert.equal(changed('user-name-as-email', {}, 'b.c'), undefined);
  const long = { firstName: 'x'.repeat(250), lastName: `${'y'.repeat(198)}👩‍👩‍👧${'z'.repeat(9)}`, nickName: 'ok' };
  assert.deepEqual(changed('shorten-name', { profile: long }), {
    profile: { firstName: `${'x'.repeat(199)}…`, lastName: `${'y'.repeat(198)}…` },
  });
  assert.equal(changed('shorten-name', { profile: { firstName: 'x'.repeat(200), lastName: 7 } }), undefined);
  for (const odd of [null, 7, 'x', [], { user: null }, { user: { email: [] } }])
    assert.doesNotThrow(() => patchOf('trim-email', odd, undefined));
});

test('a name that is too long can be shortened, and no other name', () => {
  const remediesOf = (field: string, description: string) => causesOf(invalid([field, description]))[0]?.remedies;
  const tooLong = 'must have at most 200 characters';
  assert.deepEqual(remediesOf('user.profile.firstName', tooLong), ['shorten-name', 'leave-out']);
  assert.deepEqual(remediesOf('user.profile.displayName', tooLong), ['shorten-name', 'leave-out']);
  assert.deepEqual(remediesOf('user.profile.firstName', 'is required'), ['leave-out']);
});

test('a merge patch follows RFC 7396, and cannot reach a prototype', () => {
  const entry = { userId: 'a', user: { userName: 'x', email: { email: 'old', isEmailVerified: true } } };
  const copy = structuredClone(entry);
  assert.deepEqual(mergePatch(entry, { user: { email: { email: 'new' }, userName: null, phone: { phone: '1' } } }), {
    userId: 'a',
    user: { email: { email: 'new', isEmailVerified: true }, phone: { phone: '1' } },
  });
  assert.deepEqual(entry, copy);
  assert.deepEqual(mergePatch(null, { user: { email: { email: 'a' } } }), { user: { email: { email: 'a' } } });
  mergePatch({}, JSON.parse('{"__proto__":{"planted":true}}'));
  assert.equal(({} as { planted?: boolean }).planted, undefined);
  assert.deepEqual(patchedPaths({ userId: 'b', user: { email: { email: 'a' }, metadata: [], hashedPassword: null } }), [
    ...['userId', 'user.email.email', 'user.metadata', 'user.hashedPassword'],
  ]);
});

test('a patch may have known fields alone, in both spellings', () => {
  assert.deepEqual(readPatch({ user_id: 'a', user: { user_name: null, profile: { firstName: 'A' } } }), {
    userId: 'a',
    user: { userName: null, profile: { firstName: 'A' } },
  });
  assert.throws(
    () => readPatch({ user: { nick: 1, email: { adress: 'x' } }, id: 2 }),
    (error: { violations: { field: string }[] }) =>
      error.violations.map(({ field }) => field).join() === 'user.nick,user.email.adress,id',
  );
});

test('an entry is shown with its known fields, without hash or secret', () => {
  const hash = `$2b$10$${'a'.repeat(53)}`;
  const shown = shownEntry({
    userId: 'a',
    legacy: { hash },
    user: {
      userName: hash,
      password: 'secret',
      hashedPassword: hash,
      email: { email: '{SSHA}c2VjcmV0', isEmailVerified: false },
      profile: 'Ann',
      metadata: [
        { key: 'plan', value: 'Z29sZA==' },
        { key: 'old_password', value: 'eA==' },
        { key: 'x', value: Buffer.from(hash).toString('base64') },
        hash,
      ],
    },
  });
  assert.deepEqual(shown, {
    userId: 'a',
    user: {
      userName: HIDDEN,
      password: HIDDEN,
      hashedPassword: { scheme: 'bcrypt' },
      email: { email: HIDDEN, isEmailVerified: false },
      profile: 'Ann',
      metadata: [
        { key: 'plan', value: 'Z29sZA==' },
        { key: 'old_password', value: HIDDEN },
        { key: 'x', value: HIDDEN },
        HIDDEN,
      ],
    },
  });
  for (const odd of [null, 7, 'text', [hash]]) assert.deepEqual(shownEntry(odd), {});
});

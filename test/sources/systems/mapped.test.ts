/** Custom columns: automatic mapping, in addition to the fixtures. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { ndjson } from '../../../src/sources/systems/mapped.ts';
import { personOf } from '../people.ts';

const verified = (value: unknown) => personOf(ndjson, { email: 'ann@example.com', emailVerified: value }).emailVerified;

test('a date in place of a flag counts as verified', () => {
  for (const date of ['2024-01-15T10:30:00.000Z', '2024-01-15 10:30:00', '2024-01-15'])
    assert.equal(verified(date), true);
  assert.equal(verified(null), undefined);
  for (const odd of ['0000-00-00 00:00:00', '2024', 'soon', {}]) assert.equal(verified(odd), undefined);
  const row = { email: 'ann@example.com', email_verified_at: '2024-01-15 10:30:00' };
  assert.equal(personOf(ndjson, row).emailVerified, true);
});

test("other common names and MongoDB's ids are recognized", () => {
  for (const column of ['is_verified', 'Email Address Verified', 'isEmailConfirmed']) {
    assert.equal(personOf(ndjson, { email: 'ann@example.com', [column]: 'yes' }).emailVerified, true, column);
  }
  const id = '5dea9f9c82dd7c0e76e4ec93';
  assert.equal(personOf(ndjson, { _id: { $oid: id }, email: 'ann@example.com' }).userId, id);
});

test('values around a list of users are not columns', () => {
  const record = { email: 'ann@example.com', '@context': { next: 'x' } };
  assert.deepEqual(ndjson.explain?.(record, {}), ['  taken: email=email']);
});

test('an unmapped password column counts if it holds hashes', () => {
  const hash = '$2b$04$9vWpNCdy8s6A4f6dGKf0kObCK.r6uuK6VNq.Qqh62OG1jc5nkdhsO';
  const row = (password: string, more: object = {}) => ({ email: 'ann@example.com', password, ...more });
  const found = personOf(ndjson, row(hash));
  assert.deepEqual([found.hash, found.password, found.notes], [hash, undefined, []]);
  for (const plain of ['secret', '$ecret', '$2b$04$short', '5f4dcc3b5aa765d61d8327deb882cf99']) {
    const person = personOf(ndjson, row(plain));
    assert.deepEqual([person.hash, person.password], [undefined, undefined], plain);
    assert.deepEqual(
      person.notes?.map(({ id }) => id),
      ['PASSWORD-UNSAID'],
    );
  }
  assert.equal(personOf(ndjson, row('secret', { password_hash: hash })).hash, hash);
});

test('a hash or a word for none in a column of plain passwords is nobody’s password', () => {
  const convert = ndjson.converter({ map: { password: 'password' } });
  const hash = '$2b$04$9vWpNCdy8s6A4f6dGKf0kObCK.r6uuK6VNq.Qqh62OG1jc5nkdhsO';
  for (const [password, note] of [
    [hash, 'PASSWORD-HASHED'],
    ['5f4dcc3b5aa765d61d8327deb882cf99', 'PASSWORD-HASHED'],
    ['--', 'PASSWORD-NONE'],
    ['NaT', 'PASSWORD-NONE'],
  ] as const) {
    const person = convert({ email: 'ann@example.com', password });
    assert.ok(!('skip' in person));
    assert.deepEqual([person.password, person.notes?.map(({ id }) => id)], [undefined, [note]], password);
  }
});

test('a hash inside an object is imported if it is clearly the password, and shown', () => {
  const hash = '$2b$04$9vWpNCdy8s6A4f6dGKf0kObCK.r6uuK6VNq.Qqh62OG1jc5nkdhsO';
  const record = (value: unknown, more: object = {}) => ({ email: 'ann@example.com', password: value, ...more });
  const akamai = record({ type: 'password-bcrypt', value: hash });
  assert.equal(personOf(ndjson, akamai).hash, hash);
  assert.match(ndjson.explain?.(akamai, {}).join() ?? '', /hash=password\.value/);
  const other = hash.replace('9vWp', '8vWp');
  assert.equal(personOf(ndjson, { ...akamai, local: { password: other } }).hash, undefined);
  for (const odd of [{ type: 'password-md5', value: '5f4dcc3b5aa765d61d8327deb882cf99' }, ['x'], { hash: 'x' }]) {
    const person = personOf(ndjson, record(odd));
    assert.deepEqual([person.hash, person.notes?.map(({ id }) => id)], [undefined, ['PASSWORD-UNSAID']]);
  }
  assert.deepEqual(personOf(ndjson, record(null)).notes, []);
});

test('if the caller names the column of hashes, no other column is used', () => {
  const hash = '$2b$04$9vWpNCdy8s6A4f6dGKf0kObCK.r6uuK6VNq.Qqh62OG1jc5nkdhsO';
  const convert = ndjson.converter({ map: { hash: 'other' } });
  const person = convert({ email: 'ann@example.com', password: { value: hash } });
  assert.ok(!('skip' in person));
  assert.equal(person.hash, undefined);
});

test("JHipster's columns of users are mapped", () => {
  const row = { login: 'ann', email: 'ann@example.com', activated: 'false', lang_key: 'de' };
  const person = personOf(ndjson, row);
  assert.deepEqual([person.userName, person.state, person.language], ['ann', 'inactive', 'de']);
});

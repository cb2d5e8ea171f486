/** Hashes that do not tell how they were made: completed by a formula, or rejected by name. */
import assert from 'node:assert/strict';
import { createHash, pbkdf2Sync } from 'node:crypto';
import test from 'node:test';
import bcryptjs from 'bcryptjs';
import { hashProblem } from '../../src/passwords/registry.ts';
import type { Person } from '../../src/sources/entry.ts';
import { toEntry } from '../../src/sources/entry.ts';
import { withHashFormat } from '../../src/sources/hash-format.ts';
import type { ConvertOptions, ExportFormat, Fields } from '../../src/sources/source.ts';
import { authjs } from '../../src/sources/systems/authjs.ts';
import { drupal } from '../../src/sources/systems/drupal.ts';
import { laravel } from '../../src/sources/systems/laravel.ts';
import { csv, ndjson } from '../../src/sources/systems/mapped.ts';
import { assertVerifies, noteIds } from './people.ts';

const P = 'correct horse';
const hex = (algorithm: string, text: string | Buffer) => createHash(algorithm).update(text).digest('hex');
const md5 = (text: string) => hex('md5', text);
const sha1 = (text: string) => hex('sha1', text);
const bcrypt = (text: string) => bcryptjs.hashSync(text, 4);

function converted(record: Fields, options: ConvertOptions = {}, source: ExportFormat = csv): Person {
  const row = { id: '1', email: 'ann@example.com', ...record };
  const person = withHashFormat(source.converter(options), options)(row);
  assert.ok(!('skip' in person));
  return person;
}

function hashOf(record: Fields, options: ConvertOptions = {}, source?: ExportFormat): string | undefined {
  return toEntry(converted(record, options, source), 'acme').entry.user.hashedPassword?.value;
}

test('--hash-format says how the hash was made, with the salt and the rounds of other columns', () => {
  const salted = { hash: hex('sha256', `Xq7${P}`), salt: 'Xq7' };
  assertVerifies(hashOf(salted, { hashFormat: 'sha256(salt + password)' }), P);
  const named = { pw: sha1(`Xq7${sha1(P)}`).toUpperCase(), zutat: 'Xq7' };
  const map = { hash: 'pw', salt: 'zutat' };
  assertVerifies(hashOf(named, { map, hashFormat: 'sha1(salt + sha1(password))' }), P);
  const key = pbkdf2Sync(P, 'Xq7', 1000, 512, 'sha256').toString('hex');
  const keyed = { hash: key, salt: 'Xq7', iterations: '1000' };
  assertVerifies(hashOf(keyed, { hashFormat: 'pbkdf2-sha256(rounds, salt, hex)' }), P);
  const decoded = pbkdf2Sync(P, Buffer.from('0a1b2c3d4e5f6071', 'hex'), 77, 20, 'sha512').toString('base64');
  const other = { hash: decoded, s: '0a1b2c3d4e5f6071', n: 77 };
  const mapped = { salt: 's', iterations: 'n' };
  assertVerifies(hashOf(other, { map: mapped, hashFormat: 'pbkdf2-sha512(rounds, salt)' }, ndjson), P);
  assertVerifies(hashOf({ hash: `${md5(`Xq7${md5(P)}`)}:Xq7` }, { hashFormat: 'md5(salt + md5(password))' }), P);
  assertVerifies(hashOf({ password: md5(md5(P)) }, { hashFormat: 'md5(md5(password))' }), P);
  const nested = { credentials: { hash: hex('sha256', `Xq7${P}`), salt: 'Xq7' } };
  const path = { hash: 'credentials.hash' };
  assertVerifies(hashOf(nested, { map: path, hashFormat: 'sha256(salt + password)' }, ndjson), P);
});

test('a salt may be bytes of Node.js or of MongoDB', () => {
  const salt = Buffer.from([0, 255, 7, 200]);
  const hash = hex('sha256', Buffer.concat([salt, Buffer.from(P)]));
  for (const value of [salt.toJSON(), { $binary: { base64: salt.toString('base64'), subType: '00' } }])
    assertVerifies(hashOf({ hash, salt: value }, { hashFormat: 'sha256(salt + password)' }, ndjson), P);
});

test('a formula is for hashes that do not say themselves how they were made', () => {
  const options = { hashFormat: 'sha1(salt + sha1(password))' };
  const own = bcrypt(P);
  assert.equal(hashOf({ hash: own, salt: 'Xq7' }, options), `$form$latin1$${own}`);
  assert.deepEqual(noteIds(converted({ hash: own, salt: 'Xq7' }, options)).includes('SALT-NOT-USED'), true);
  assert.match(JSON.stringify(converted({ hash: own, salt: 'Xq7' }, options)), /passwords are tried alone\./);
  assert.deepEqual(noteIds(converted({ hash: own, salt: own.slice(0, 29) }, options)).includes('SALT-NOT-USED'), false);
});

test('what the formula needs and the record does not have rejects the user by name', () => {
  const problemOf = (record: Fields, hashFormat: string) => hashProblem(hashOf(record, { hashFormat }) ?? '');
  assert.equal(problemOf({ hash: sha1(P) }, 'sha1(salt + password)'), 'formula: the salt is missing');
  const keyed = { hash: hex('sha256', P), salt: 'Xq7' };
  assert.equal(problemOf(keyed, 'pbkdf2-sha256(rounds, salt)'), 'formula: the number of rounds is missing');
  assert.match(problemOf({ hash: md5(P), salt: 'Xq7' }, 'sha1(salt + password)') ?? '', /"\$md5-with-salt\$"/);
  const argon = '$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
  assert.match(problemOf({ hash: argon }, 'bcrypt(md5(password))') ?? '', /not a hash of bcrypt/);
  assert.throws(
    () => withHashFormat(csv.converter({}), { hashFormat: 'foo(x)' }),
    /--hash-format: there is no function/,
  );
});

test('a digest beside a salt, rounds or an algorithm is never one of the password alone, in any source', () => {
  const cases: [more: Fields, name: string][] = [
    [{ salt: 'Xq7' }, '$sha256-with-salt$'],
    [{ PasswordSalt: 'Xq7' }, '$sha256-with-salt$'],
    [{ pass_salt_hex: '0a1b' }, '$sha256-with-salt$'],
    [{ iterations: '1000' }, '$sha256-with-rounds$'],
    [{ rounds: 'many' }, '$sha256-with-rounds$'],
    [{ salt: { parts: [1, 2] } }, '$sha256-with-salt$'],
    [{ hash_algorithm: 'PBKDF2' }, '$sha256-with-kind$'],
    [{ hashing_method: 'ssha256', salt: '' }, '$sha256-with-kind$'],
  ];
  for (const [more, name] of cases) {
    const person = converted({ password_hash: hex('sha256', P), ...more }, {}, ndjson);
    assert.equal(person.hash, name, JSON.stringify(more));
    assert.match(person.notes?.find(({ id }) => id === 'HASH-WITH-SALT')?.message ?? '', /--hash-format/);
    assert.ok(hashProblem(name));
  }
  const row = { password: hex('sha512', P), salt: 'Xq7', accounts: [] };
  assert.equal(converted(row, {}, authjs).hash, '$sha512-with-salt$');
  assertVerifies(
    hashOf({ ...row, password: hex('sha512', `Xq7${P}`) }, { hashFormat: 'sha512(salt + password)' }, authjs),
    P,
  );
  const unread = { ...row, password: createHash('sha256').update(P).digest('base64') };
  assert.equal(converted(unread, {}, laravel).hash, '$digest-with-salt$');
  const inside = { login: { hash: sha1(P), salt: 'Xq7' } };
  assert.equal(converted(inside, { map: { hash: 'login.hash' } }, ndjson).hash, '$sha1-with-salt$');
});

test('a digest of the password alone stays one', () => {
  const rows: Fields[] = [
    { algorithm: 'SHA-256' },
    { hash_algorithm: 'sha256', iterations: 1, salt: '' },
    { basalt: 'grey', salutation: 'Dr.', saltLakeCity: 'no', has_salt: 'false' },
    { salt: null },
  ];
  for (const more of rows) assertVerifies(hashOf({ hash: hex('sha256', P), ...more }, {}, ndjson), P);
  const salted = { hash: hex('sha256', P), salt: 'Xq7' };
  assertVerifies(hashOf(salted, { map: { salt: '' } }), P);
  assertVerifies(hashOf(salted, { hashFormat: 'sha256(password)' }), P);
});

test('columns that name algorithm and place of the salt, or all of PBKDF2, are enough', () => {
  const hash = hex('sha256', `${P}Xq7`);
  assertVerifies(hashOf({ hash, salt: 'Xq7', salt_position: 'suffix', hashing_method: 'sha256' }), P);
  const before = { hash: hex('sha512', `Xq7${P}`), salt: 'Xq7', saltPosition: 'before', algo: 'SHA_512' };
  assertVerifies(hashOf(before), P);
  const key = pbkdf2Sync(P, 'Xq7', 900, 32, 'sha256').toString('base64');
  assertVerifies(hashOf({ hash: key, salt: 'Xq7', rounds: 900, algorithm: 'PBKDF2WithHmacSHA256' }, {}, ndjson), P);
  assert.equal(
    converted({ hash, salt: 'Xq7', salt_position: 'middle', algorithm: 'sha256' }).hash,
    '$sha256-with-salt$',
  );
});

const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const SYSTEMS: readonly [title: string, row: Fields][] = [
  ['Redmine', { login: 'ann', hashed_password: sha1(`s${sha1(P)}`), salt: 's', must_change_passwd: 'f' }],
  [
    'OpenCart',
    { customer_group_id: '1', firstname: 'A', lastname: 'B', password: sha1(`s${sha1(`s${sha1(P)}`)}`), salt: 's' },
  ],
  ['MyBB', { usergroup: '2', password: md5(md5('s') + md5(P)), salt: 's', loginkey: 'k' }],
  ['IP.Board', { members_pass_hash: md5(md5('s') + md5(P)), members_pass_salt: 's' }],
  ['vBulletin 4', { usergroupid: '2', passworddate: '2019-01-01', password: md5(`${md5(P)}s`), salt: 's' }],
  ['vBulletin 5', { usergroupid: '2', scheme: 'blowfish:10', token: bcrypt(md5(P)), secret: 's' }],
  ['vBulletin 5', { usergroupid: '2', scheme: 'legacy', token: `${md5(`${md5(P)}s$d`)} s$d`, secret: 'x' }],
  ['SMF', { member_name: 'Ann', passwd: sha1(`ann${P}`), password_salt: 'cook' }],
  ['SMF 2.1', { member_name: 'Ann', passwd: bcrypt(`ann${P}`), password_salt: 'cook' }],
  ['PunBB', { group_id: '3', registration_ip: '::1', password: sha1(`s${sha1(P)}`), salt: 's' }],
  ['UCenter', { regip: '::1', secques: '', password: md5(`${md5(P)}s`), salt: 's' }],
  ['ECShop', { password: md5(`${md5(P)}7`), ec_salt: '7' }],
  ['symfony 1', { algorithm: 'sha1', salt: 's', password: sha1(`s${P}`), is_super_admin: '0' }],
  ['Gitea', { passwd: gitea(), passwd_hash_algo: 'pbkdf2$300$50', salt: '0a1b2c3d4e5f6071' }],
  [
    'ASP.NET membership',
    {
      PasswordFormat: '1',
      PasswordSalt: Buffer.from('sixteen byte s!!').toString('base64'),
      Password: createHash('sha1').update('sixteen byte s!!').update(utf16(P)).digest('base64'),
    },
  ],
  ['Authlogic', { crypted_password: bcrypt(`${P}s`), password_salt: 's', persistence_token: 't' }],
  ['Sorcery', { crypted_password: bcrypt(`${P}s`), salt: 's' }],
  ['SuiteCRM', { user_hash: bcrypt(md5(P)), system_generated_password: '0' }],
  ['Matomo', { login: 'ann', superuser_access: '0', ts_password_modified: '2019-01-01', password: bcrypt(md5(P)) }],
  ['Matomo', { login: 'ann', email: 'a@b.example', superuser_access: '0', invited_by: '', password: bcrypt(md5(P)) }],
  ['Matomo', { login: 'ann', date_registered: '2020', invite_token: '', password: bcrypt(md5(P)) }],
  ['Piwik', { login: 'ann', alias: 'Ann', token_auth: 't', date_registered: '2015', password: bcrypt(md5(P)) }],
  ['SuiteCRM', { user_name: 'ann', user_hash: bcrypt(md5(P)), status: 'Active', employee_status: 'Active' }],
  ['SuiteCRM', { user_name: 'ann', user_hash: bcrypt(md5(P)) }],
  ['a program of one’s own', { user_name: 'ann', user_hash: bcrypt(P) }],
  ['Metabase', { password: bcrypt(`s-1${P}`), password_salt: 's-1', date_joined: '2020', is_superuser: 'f' }],
  ['Metabase', { password: bcrypt(`s-1${P}`), password_salt: 's-1', sso_source: '' }],
  ['WoltLab', { userID: '1', username: 'ann', accessToken: 'x', registrationDate: '1', password: twice() }],
  ['WoltLab', { userID: '1', username: 'ann', banReason: '', banExpires: '0', password: twice() }],
  ['WoltLab 5.4', { userID: '1', username: 'ann', banReason: '', password: `DoubleBcrypt:${twice()}` }],
  ['WoltLab 5.4', { userID: '1', username: 'ann', banReason: '', password: `Bcrypt:${bcrypt(P)}` }],
  ['WCF 1', { userID: '1', username: 'ann', styleID: '0', password: sha1(`s${sha1(`s${sha1(P)}`)}`), salt: 's' }],
  ['a formula', { password_hash: bcrypt(sha1(P)), hash_type: 'bcrypt(sha1($pass))' }],
  ['a formula', { password_hash: md5(`s${P}`), salt: 's', hash_type: 'md5($salt.$pass)' }],
  ['a salt that a hash does not contain', { password_hash: bcrypt(`s-1${P}`), salt: 's-1' }],
  ['a salt that a hash does not contain', { password_hash: bcrypt(`${P}s-1`), salt: 's-1' }],
  ['a salt that is of something else', { password_hash: bcrypt(P), salt: 's-1' }],
  ...['md5', 'sha1', 'sha256', 'sha512'].map((name): [string, Fields] => [
    'a digest beside a salt that is of something else',
    { password_hash: bcrypt(hex(name, P)), salt: 's-1' },
  ]),
  ...[md5(`s-1${P}`), md5(`${P}s-1`), sha1(`s-1${P}`), sha1(`${P}s-1`)].map((digest): [string, Fields] => [
    'a salted digest',
    { password_hash: bcrypt(digest), salt: 's-1' },
  ]),
  ['NodeBB', { password: bcrypt(hex('sha512', P)), 'password:shaWrapped': '1' }],
  ['NodeBB', { password: bcrypt(P), 'password:shaWrapped': '' }],
  ['Meteor', { services: { password: { bcrypt: bcrypt(hex('sha256', P)) } } }],
  ['Meteor, as others write it', { services: { password: { bcrypt: bcrypt(P) } } }],
  ['Meteor', { services: JSON.stringify({ password: { bcrypt: bcrypt(hex('sha256', P)) } }) }],
  ['Meteor', { 'services.password.bcrypt': bcrypt(hex('sha256', P)) }],
];

/** bcrypt of bcrypt, with one salt. */
function twice(): string {
  const salt = bcrypt(P).slice(0, 29).replace('$2b$', '$2a$');
  return bcryptjs.hashSync(bcryptjs.hashSync(P, salt), salt);
}

test('a hash beside a foreign salt is tried in as many ways as there is time for', () => {
  const stored = (cost: number) =>
    hashOf({ password_hash: `$2b$${cost}$${'.'.repeat(53)}`, salt: 's-1' })?.split('$$2b')[0] ?? '';
  const count = (text: string) => text.split('|').length;
  assert.deepEqual(
    [10, 11, 12, 13, 14, 15].map((cost) => count(stored(cost))),
    [11, 11, 7, 3, 3, 1],
  );
  assert.match(
    stored(12),
    /^\$form\$latin1\$\$formula\$crypt\(password\|salt\+password\|password\+salt\|md5\(password\)\|/,
  );
  assert.match(stored(14), /^\$formula\$/);
  assert.match(stored(15), /^\$form\$latin1$/);
});

test('a hash beside functions or a salt that nobody knows is refused by name', () => {
  const named = converted({ password_hash: bcrypt(P), hash_type: 'bcrypt(scramble($pass))' });
  assert.match(hashProblem(named.hash ?? '') ?? '', /unknown-function/);
  assert.ok(noteIds(named).includes('HASH-NAMED'));
  const plain = bcrypt(P);
  assert.equal(hashOf({ password_hash: plain, hash_type: 'bcrypt (10)' }), `$form$latin1,digest$${plain}`);
  const nonce = converted({ password_hash: hex('sha256', `n${P}`), nonce: 'n', hash_method: 'sha256' });
  assert.equal(nonce.hash, '$sha256-with-salt$');
});

function gitea(): string {
  return pbkdf2Sync(P, Buffer.from('0a1b2c3d4e5f6071', 'hex'), 300, 50, 'sha256').toString('hex');
}

test('systems are known by their columns', () => {
  for (const [title, row] of SYSTEMS) {
    const hash = hashOf(row, {}, ndjson);
    assert.ok(hash !== undefined, title);
    assertVerifies(hash, P);
  }
  assertVerifies(hashOf({ bcrypt_of_md5: bcrypt(md5(P)) }, { map: { hash: 'bcrypt_of_md5' } }), P);
  const [, redmine] = SYSTEMS[0] as [string, Fields];
  const lines = csv.explain?.({ email: 'ann@example.com', ...redmine }, {}).join('\n') ?? '';
  assert.match(lines, /hashes: made by sha1\(salt \+ sha1\(password\)\), as Redmine makes them/);
  const fos = { username_canonical: 'ann', salt: 's1', password: symfony() };
  assertVerifies(hashOf(fos), P);
});

function symfony(): string {
  const salted = Buffer.from(`${P}{s1}`);
  let made = createHash('sha512').update(salted).digest();
  for (let round = 1; round < 5000; round++) made = createHash('sha512').update(made).update(salted).digest();
  return made.toString('base64');
}

test('hashes of unknown programs are tried in ISO-8859-1 too, with as many readings as there is time for', () => {
  const formOf = (hash: string, options: ConvertOptions = {}, source?: ExportFormat) => {
    const { entry, notes } = toEntry(converted({ hash, password: hash }, options, source), 'acme');
    const form = /^\$form\$([^$]*)\$/.exec(entry.user.hashedPassword?.value ?? '')?.[1] ?? 'none';
    return notes.some(({ id }) => id === 'PASSWORD-FORM-LEFT-OUT') ? `${form}, others left out` : form;
  };
  const costing = (cost: number) => `$2b$${cost}$${'.'.repeat(53)}`;
  const digest = Buffer.alloc(32, 7).toString('base64').slice(0, -1);
  assert.equal(formOf(costing(10)), 'latin1,digest');
  assert.equal(formOf(costing(13)), 'latin1,digest');
  assert.equal(formOf(`$argon2id$v=19$m=131072,t=3,p=1$c2FsdHNhbHQ$${digest}`), 'digest, others left out');
  assert.equal(formOf(costing(14)), 'latin1, others left out');
  assert.equal(formOf(costing(16)), 'none, others left out');
  for (const crypt of [
    '$1$saltsalt$DtE.9M0LkRmHWDhStDIYS1',
    '$apr1$saltsalt$DtE.9M0LkRmHWDhStDIYS1',
    `{CRYPT}${bcrypt(P)}`,
    `$pbkdf2-sha256$1000$c2Vhc2FsdCE$${digest}`,
  ])
    assert.equal(formOf(crypt), 'latin1', crypt);
  assert.equal(formOf(bcrypt(P), { hashFormat: 'crypt(md5(password))' }), 'latin1');
  assert.equal(formOf(`bcrypt$${bcrypt(P)}`), 'none', 'Django hashes UTF-8');
  assert.equal(formOf(bcrypt(P), {}, laravel), 'none', 'Laravel hashes UTF-8');
});

test('a table whose users have hashes of different digests is tried with each', () => {
  const hashFormat = 'crypt(password | md5(password) | sha1(password) | sha256(password) | sha512(password))';
  for (const text of [P, md5(P), sha1(P), hex('sha256', P), hex('sha512', P)])
    assertVerifies(hashOf({ hash: bcrypt(text) }, { hashFormat }), P);
});

test('digests inside a hash are known by what precedes it, and said by --hash-format elsewhere', () => {
  const authgear = `$bcrypt-sha512$${bcrypt(createHash('sha512').update(P).digest('base64'))}`;
  assertVerifies(hashOf({ password_hash: authgear }), P);
  assertVerifies(hashOf({ password_hash: `M${bcrypt(md5(P))}` }), P);
  assertVerifies(hashOf({ uid: '7', name: 'ann', pass: `U${bcrypt(md5(P))}`, mail: 'a@example.com' }, {}, drupal), P);
  assertVerifies(hashOf({ hash: bcrypt(md5(P)) }, { hashFormat: 'crypt(md5(password))' }), P);
  assertVerifies(
    hashOf({ password: bcrypt(hex('sha512', P)) }, { hashFormat: 'bcrypt(sha512(password))' }, laravel),
    P,
  );
});

/** What old systems do to a password before they hash it: tried only for hashes that say so, and within the bounds. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import test from 'node:test';
import { lastingForm, PASSWORD_FORMS, readingsOf, withForms } from '../../src/passwords/forms.ts';
import { originalHash, pepperedReadings } from '../../src/passwords/pepper.ts';
import {
  hashProblem,
  isCurrent,
  makeHash,
  schemeOf,
  usesWholePassword,
  verifyHash,
  verifyPassword,
  workOf,
} from '../../src/passwords/registry.ts';
import { bcryptLibrary } from '../../src/passwords/schemes/bcrypt.ts';

const md5 = (text: string | Buffer) => hash('md5', text);
/** sha512sum of `correct horse`. */
const SHA512 =
  '56b698defedb5a435b634afe3320bbaf3fdcd920b6c503a446fc7b7a776b298d479d1ba6a8b617808eb0bf579ce9a95d668347bcab7149085ac93cb27995197b';
/** The bytes are made by hand, not by the code under test. */
const FORMED: readonly [form: string, typed: string, hashed: string | Buffer][] = [
  ['trim', ' two words\t', 'two words'],
  ['html', 'a & b < c > d "e" \'f\'', "a &amp; b &lt; c &gt; d &quot;e&quot; 'f'"],
  ['html', ' <b> ', '&lt;b&gt;'],
  ['html', 'cafe\u0301', 'caf\u00e9'],
  ['nfkc', '\ufb01ne \u00bd', 'fine 1\u20442'],
  ['latin1', 'Grüße', Buffer.from('4772fcdf65', 'hex')],
  ['latin1', '€ „x“', Buffer.from('8020847893', 'hex')],
  ['latin1', '한 ok', '&#54620; ok'],
  ['utf16', 'aé', Buffer.from('6100e900', 'hex')],
  ['html,latin1', 'ü & €', Buffer.from('fc2026616d703b2080', 'hex')],
  ['digest', 'correct horse', '3cb4e732631f47e6eb961f34554b7cde'],
  ['digest', 'correct horse', '2f9e53523b62abc141a2b4d6019d23cba835dbd0'],
  ['digest', 'correct horse', '4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631'],
  ['digest', 'correct horse', SHA512],
  ['latin1,digest', 'Grüße', '2c987648c54e9054bf8c8c916b17d5c0'],
  ['latin1,digest', 'Gru\u0308ße', Buffer.from('4772fcdf65', 'hex')],
  ['latin1,digest', 'Grüße', hash('md5', 'Grüße')],
];

for (const [form, typed, hashed] of FORMED) {
  test(`${form} of ${JSON.stringify(typed)}`, () => {
    const plain = md5(hashed);
    const formed = `$form$${form}$${plain}`;
    assert.equal(hashProblem(formed), undefined);
    assert.equal(schemeOf(formed), `md5-plain (${form.replace(',', ', ')})`);
    assert.equal(verifyHash(formed, typed), true);
    assert.equal(verifyHash(formed, `${typed}!`), false);
    assert.equal(verifyHash(plain, typed), false, 'a hash without the form is not tried so');
    assert.equal(verifyHash(`$form$${form}$${md5(typed)}`, typed), true, 'as typed it is right too');
  });
}

test('a form and a formula work together, with bytes in a digest and in a whole hash', () => {
  const typed = 'Grüße';
  const bytes = Buffer.from('4772fcdf65', 'hex');
  const digest = hash('sha1', `xyzzy${hash('sha1', bytes)}`, 'buffer').toString('base64');
  const salted = bcryptLibrary().hash(Buffer.concat([bytes, Buffer.from('xyzzy')]), 4, 'abcdefghijklmnopqrstuu');
  const ofDigest = bcryptLibrary().hash(md5(bytes), 4, 'abcdefghijklmnopqrstuu');
  for (const formula of [
    `sha1(salt+sha1(password))$eHl6enk$${digest.replace('=', '')}`,
    `bcrypt(password+salt)$eHl6enk$${salted}`,
    `crypt(md5(password))$$${ofDigest}`,
  ]) {
    const formed = `$form$latin1$$formula$${formula}`;
    assert.equal(hashProblem(formed), undefined, formula);
    assert.equal(verifyHash(formed, typed), true, formula);
    assert.equal(verifyHash(formed, 'Gr\ufffd\ufffde'), false, formula);
    assert.equal(verifyHash(`$formula$${formula}`, typed), false, formula);
  }
});

test('every form is tested here', () => {
  assert.deepEqual(new Set(FORMED.flatMap(([form]) => form.split(','))), new Set(PASSWORD_FORMS));
});

test('all readings of a password count as work', () => {
  const bcrypt = `$2y$12$${'.'.repeat(53)}`;
  assert.equal(workOf(`$form$html$${bcrypt}`), 3 * workOf(bcrypt));
  assert.equal(workOf(`$form$trim,nfkc$${bcrypt}`), 4 * workOf(bcrypt));
  const most = `$form$html$$2y$14$${'.'.repeat(53)}`;
  assert.equal(hashProblem(most), undefined);
  assert.match(hashProblem(most.replace('$14$', '$15$')) ?? '', /verifying it takes 1\.5 times/);
});

test('letters of an encoding are tried in it, directly after the text as typed, and others cost nothing', () => {
  const latin1 = Buffer.from('4772fcdf65', 'hex');
  const { readings } = readingsOf('$form$latin1,digest$abc', 'Grüße');
  const digests = ['md5', 'sha1', 'sha256', 'sha512'].map((name) => hash(name, 'Grüße'));
  assert.deepEqual(readings, ['Grüße', latin1, ...digests, hash('md5', latin1), hash('sha1', latin1)]);
  for (const password of ['', 'correct horse', 'Пароль', 'Grüße Ж', '\ud83d\ude00'])
    assert.equal(readingsOf('$form$latin1,digest$abc', password).readings.length, 5, password);
  assert.deepEqual(readingsOf('$form$latin1$abc', 'correct horse').readings, ['correct horse']);
  const bcrypt = `$2y$13$${'.'.repeat(53)}`;
  assert.equal(workOf(`$form$latin1,digest$${bcrypt}`), 8 * workOf(bcrypt));
  assert.equal(hashProblem(`$form$latin1,digest$${bcrypt}`), undefined);
});

test('a wrong password for bcrypt with a form takes no more than its readings', (t) => {
  const library = bcryptLibrary();
  const runs = t.mock.method(library, 'hash');
  const formed = `$form$latin1$${library.hash(Buffer.from('4772fcdf65', 'hex'), 5, 'abcdefghijklmnopqrstuu')}`;
  for (const [typed, count, ok] of [
    ['wrong', 1, false],
    ['Grusse', 1, false],
    ['größe', 2, false],
    ['Grüße', 2, true],
  ] as const) {
    runs.mock.resetCalls();
    assert.deepEqual(verifyPassword(formed, typed, 5), { ok, rehash: ok });
    assert.equal(runs.mock.callCount(), count, typed);
  }
});

test('a hash with a form is replaced, unless blanks at the ends may be a typo', () => {
  const formed = `$form$trim$${md5('secret')}`;
  assert.equal(isCurrent(formed, 'secret', 10), false);
  assert.equal(usesWholePassword(formed, ' secret'), false);
  assert.equal(isCurrent(formed, ' secret', 10), true);
  assert.equal(isCurrent(`$form$latin1$${md5(' secret')}`, ' secret', 10), false, 'only trim and html ignore blanks');
  const long = `$form$html$$2y$10$${'.'.repeat(53)}`;
  assert.equal(usesWholePassword(long, '&'.repeat(14)), true);
  assert.equal(usesWholePassword(long, '&'.repeat(15)), false, 'bcrypt cuts the escaped text off');
});

test('a digest is nobody’s password where the hash may be of a digest', () => {
  const bcrypt = (text: string) => bcryptLibrary().hash(text, 4, 'abcdefghijklmnopqrstuu');
  for (const name of ['md5', 'sha1', 'sha256', 'sha512']) {
    const digest = hash(name, 'secret');
    const formed = `$form$digest$${bcrypt(digest)}`;
    assert.equal(verifyHash(formed, 'secret'), true, name);
    assert.equal(verifyHash(formed, digest), false, name);
    assert.equal(
      verifyHash(`$form$digest$${bcrypt(digest.toUpperCase())}`, digest.toUpperCase()),
      true,
      'no digest of these',
    );
  }
  assert.equal(verifyHash(`$form$trim,digest$${bcrypt(md5('secret'))}`, ` ${md5('secret')} `), false, 'in any reading');
  for (const either of ['crypt(md5(password)|password)', 'crypt(password|upper(md5(password)))']) {
    const formula = (text: string) => `$formula$${either}$$${bcrypt(text)}`;
    const digest = either.includes('upper') ? md5('secret').toUpperCase() : md5('secret');
    assert.equal(verifyHash(formula(digest), 'secret'), true, either);
    assert.equal(verifyHash(formula('secret'), 'secret'), true, either);
    assert.equal(verifyHash(formula(digest), digest), false, either);
    assert.equal(
      verifyHash(formula(hash('sha1', 'secret')), hash('sha1', 'secret')),
      true,
      'of another digest than it says',
    );
  }
  const base64 = hash('sha256', 'secret', 'base64');
  assert.equal(verifyHash(`$formula$crypt(password|base64(sha256(password)))$$${bcrypt(base64)}`, base64), false);
  const vBulletin = `${md5(`${md5('secret')}salt`)}:salt`;
  assert.equal(verifyHash(vBulletin, 'secret'), true);
  assert.equal(verifyHash(vBulletin, md5('secret')), false);
});

test('a hash that may be of a digest is replaced, also where bcrypt ignores the last digits', () => {
  const formed = `$form$digest$${bcryptLibrary().hash(SHA512, 10, 'abcdefghijklmnopqrstuu')}`;
  assert.deepEqual(verifyPassword(formed, 'correct horse', 10), { ok: true, rehash: true });
  assert.equal(usesWholePassword(formed, 'x'.repeat(73)), false);
  assert.equal(workOf(formed), 5 * workOf(originalHash(formed)));
});

test('the form trim stays when the hash is replaced, and the new hash is current', () => {
  assert.equal(lastingForm(`$form$trim,nfkc$${md5('secret')}`), '$form$trim$');
  assert.equal(lastingForm(`$form$html$${md5('secret')}`), '');
  assert.equal(lastingForm(md5('secret')), '');
  const made = `$form$trim$${makeHash('secret', 4)}`;
  assert.deepEqual(verifyPassword(made, 'secret', 4), { ok: true, rehash: false });
  assert.deepEqual(verifyPassword(made, 'secret ', 4), { ok: true, rehash: false });
  assert.deepEqual(verifyPassword(made, 'secret', 5), { ok: true, rehash: true });
});

test('forms are written once, in one order', () => {
  assert.equal(withForms('abc', ['latin1', 'html']), '$form$html,latin1$abc');
  assert.equal(withForms('abc', []), 'abc');
  assert.equal(withForms('$form$trim$abc', ['html']), '$form$trim$abc');
  assert.equal(originalHash('$pepper$7$$form$trim$abc'), 'abc');
  assert.deepEqual(readingsOf('$form$trim$abc', 'x'), { hash: 'abc', readings: ['x'] });
});

test('a form is applied before a pepper', () => {
  const suffix = pepperedReadings('$form$nfkc$abc', { mode: 'suffix', secret: '½' }, '½');
  assert.deepEqual(suffix, { hash: 'abc', readings: ['½½', '1⁄2½'], times: 1 });
  const bytes = pepperedReadings('$form$latin1$abc', { mode: 'suffix', secret: 'p' }, 'ü');
  assert.deepEqual(bytes.readings.at(-1), Buffer.from('fc70', 'hex'));
});

test('with a pepper before the password, the password alone is tried too, within the bounds', () => {
  const pepper = { mode: 'prefix', secret: 'p' } as const;
  assert.deepEqual(pepperedReadings('abc', pepper, 'x'), { hash: 'abc', readings: ['px', 'x'], times: 2 });
  assert.deepEqual(pepperedReadings(`$2b$16$${'.'.repeat(53)}`, pepper, 'x').readings, ['px']);
  assert.deepEqual(pepperedReadings('abc', { ...pepper, mode: 'suffix' }, 'x').readings, ['xp']);
});

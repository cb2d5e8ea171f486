/** What `muster import` advises at its end, and what it checks before it reads a file. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { type RunOptions, requireTimeout } from '../../../src/cli/import/options.ts';
import { adviceLines } from '../../../src/cli/import/run.ts';
import { summaryLines } from '../../../src/cli/import/summary.ts';
import { Failure } from '../../../src/cli/terminal/failure.ts';
import { openCounter } from '../../../src/sources/summary.ts';

const OPTIONS = {
  files: ['my users.json'],
  from: 'auth0',
  org: 'acme',
  timeout: '30m',
  dryRun: true,
  onExisting: 'fail',
  enterpriseMailCodes: true,
} as unknown as RunOptions;

test('a dry run ends with the command that imports for real', () => {
  assert.deepEqual(adviceLines(OPTIONS, []), [
    'To import these users, run:',
    "  muster import 'my users.json' --from auth0 --org acme --timeout 30m --watch",
  ]);
  const [, command] = adviceLines(
    { ...OPTIONS, onExisting: 'skip', mails: 'none', strict: true, map: ["email=Ann's mail"], idPrefix: 'shop-' },
    [],
  );
  const options =
    "--map 'email=Ann'\\''s mail' --id-prefix shop- --timeout 30m --on-existing skip --mails none --strict --watch";
  assert.ok(command?.endsWith(options), command);
  const passwords = { pepperEnv: 'PEPPER', pepperMode: 'prefix', passwordForm: ['trim', 'nfkc'], passwordSource: '7' };
  const [, whole] = adviceLines({ ...OPTIONS, ...passwords, idempotencyKey: 'dry' } as RunOptions, []);
  for (const words of ['--pepper-env PEPPER --pepper-mode prefix', '--password-form trim', '--password-source 7']) {
    assert.ok(whole?.includes(words), whole);
  }
  assert.doesNotMatch(whole ?? '', /dry/);
});

test('of users that the service keeps, a dry run ends with the command that starts them', () => {
  const skip = { ...OPTIONS, onExisting: 'skip', mails: 'none', webhook: 'https://a.example/?b=1&c' } as RunOptions;
  assert.deepEqual(adviceLines(skip, [], '17'), [
    'To import these users, which the service keeps as a draft for a day, run:',
    "  muster start 17 --timeout 30m --on-existing skip --mails none --webhook 'https://a.example/?b=1&c' --watch",
    'To drop them: muster discard 17',
  ]);
});

test('after a conflict with an existing user, --on-existing skip is advised', () => {
  const taken = { id: 'USER-ID-TAKEN', message: 'x', count: 1, examples: [] };
  const real = { ...OPTIONS, dryRun: false };
  assert.match(adviceLines(real, [taken])[0] ?? '', /--on-existing skip/);
  assert.deepEqual(adviceLines({ ...real, onExisting: 'skip' }, [taken]), []);
  assert.deepEqual(adviceLines(real, [{ ...taken, id: 'USER-INVALID' }]), []);
});

test('--timeout must be a duration of more than 0', () => {
  for (const good of ['30m', '1h30m0s', '1.5h', '300ms', '90s']) requireTimeout(good);
  for (const bad of ['', '0', '0s', '30', 'half an hour', '-5m', '5 m', '1d']) {
    assert.throws(() => requireTimeout(bad), Failure, bad);
  }
});

function summaryOf(user: { userId: string; hash: string }): string {
  const counter = openCounter();
  const profile = { firstName: 'Ann', lastName: 'Ash' };
  const email = { email: 'ann@example.com', isEmailVerified: true };
  const entry = { orgId: 'acme', userId: user.userId, user: { profile, email, hashedPassword: { value: user.hash } } };
  counter.add({ file: 'users.csv', line: 2, notes: [], entry });
  return summaryLines(counter.summary(0)).join('\n');
}

test('the summary recommends a prefix for ids that are small numbers', () => {
  const hash = '$2b$04$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234';
  assert.match(summaryOf({ userId: '17', hash }), /1 user id is a number below .*--id-prefix/);
  for (const userId of ['shop-17', '1234567890123456', 'a1']) {
    assert.doesNotMatch(summaryOf({ userId, hash }), /--id-prefix/);
  }
});

test('with --mails none the summary says how many mails are held, and how to send them', () => {
  const counter = openCounter();
  const email = { email: 'ann@example.com', isEmailVerified: false };
  const user = { profile: { firstName: 'Ann', lastName: 'Ash' }, email };
  counter.add({ file: 'users.csv', line: 2, notes: [], entry: { orgId: 'acme', user } });
  const text = summaryLines(counter.summary(0), { mails: 'none', withoutEmail: false }).join('\n');
  assert.match(
    text,
    /Mails that are held back \(--mails none\); `muster send-mails IMPORT` sends them\n.* 0 .*verify.*\n.* 1 .*password/,
  );
});

test('users without an email address fail, or log in with their user name', () => {
  const counter = openCounter();
  const person = { profile: { firstName: 'Ann', lastName: 'Ash' }, email: { isEmailVerified: false } };
  const hashedPassword = { value: '$2b$04$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234' };
  const users = [{ ...person, userName: 'ann', hashedPassword }, { ...person, userName: 'bob' }, person];
  for (const [i, user] of users.entries())
    counter.add({ file: 'users.csv', line: i + 2, notes: [], entry: { orgId: 'acme', user } });
  const usual = summaryLines(counter.summary(0)).join('\n');
  assert.match(usual, /Will fail, as every user needs an email address; --without-email imports them\n +3 /);
  const allowed = summaryLines(counter.summary(0), { mails: 'auto', withoutEmail: true }).join('\n');
  assert.match(allowed, /Log in with their user name, and get no mail\n +3 .*line 2, 3, 4/);
  assert.match(allowed, / 1 {2}of them have no password/);
  assert.match(allowed, /Will fail, as a user without an email address needs a user name\n +1 .*line 4/);
  assert.match(allowed, /Mails: none/);
});

test('the summary counts users who must type their user name, and those of a password source', () => {
  const text = (atSource: boolean) => {
    const counter = openCounter({ atSource });
    const profile = { firstName: 'Ann', lastName: 'Ash' };
    const users = [
      { userName: 'ann', email: { email: 'ann@example.com', isEmailVerified: false } },
      { userName: 'Bob@example.com', email: { email: 'bob@example.com', isEmailVerified: false } },
      { userName: 'cid', email: { email: 'cid@example.com', isEmailVerified: true } },
    ];
    for (const [i, user] of users.entries())
      counter.add({ file: 'users.csv', line: i + 2, notes: [], entry: { orgId: 'acme', user: { profile, ...user } } });
    const passwordSource = atSource ? 'an id' : undefined;
    return summaryLines(counter.summary(0), { mails: 'auto', withoutEmail: false, passwordSource }).join('\n');
  };
  assert.match(text(true), /3 {2}verified at the password source/);
  assert.match(text(true), /1 user whose address is not verified must type the user name/);
  assert.match(text(true), /2 {2}to verify an address\n.* 0 {2}to set a password/);
  assert.doesNotMatch(text(false), /must type/, 'the link to set a password verifies the address');
  assert.match(text(false), /0 {2}to verify an address\n.* 3 {2}to set a password/);
});

test('the summary warns that an MD5 may be an NT hash', () => {
  assert.match(summaryOf({ userId: 'a', hash: '5f4dcc3b5aa765d61d8327deb882cf99' }), /md5-plain: will verify, if .*NT/);
});

/**
 * Who gets in is predicted before the import, and true afterwards. Every source: imports its export into an organization
 * of its own, first as a dry run; then each user tries every way in. A prediction is right if exactly the predicted way
 * works. A new source needs a folder in test/fixtures/ways.
 */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { SignIn } from '../../src/contract/sign-in.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { TestOrg } from '../support/calls.ts';
import { startSmsGateway } from '../support/sms.ts';
import { waitFor } from '../support/wait.ts';
import {
  heldBack,
  leftOut,
  nameOf,
  reEnrolled,
  type WaysCase,
  type WaysUser,
  waysCases,
  withoutCodes,
  withoutTexts,
  withSource,
} from './cases.ts';
import { type Imported, importCase, inTurns } from './import-case.ts';
import { addPasswordSource, openStage, type Stage, setLoginPolicy } from './stage.ts';
import { type MailsOf, mailsOf, type Tried, tryWays } from './try.ts';

/** Enough to have users with each way. */
const WITHOUT_CODES = ['auth0', 'clerk', 'cognito', 'firebase', 'keycloak', 'kratos', 'supabase', 'wordpress'];
const CASES = waysCases();

test('there is an export with users of every kind for each source', () => {
  const sources = SOURCES.map(({ name }) => name).sort();
  assert.deepEqual(
    CASES.map(({ source }) => source),
    sources,
  );
});

/** Under what an import is made, and how users sign in then who have the way of their case otherwise. */
interface Circumstances {
  title: string;
  of?: readonly string[];
  policy: object;
  args?: readonly string[];
  start?: object;
  /** Users without a password of their own sign in with theirs at a password source. */
  atSource?: boolean;
  as?(user: WaysUser): WaysUser;
}

const CIRCUMSTANCES: readonly Circumstances[] = [
  { title: '', policy: { mailCode: 'withoutPassword' } },
  { title: 'without codes by mail', of: WITHOUT_CODES, policy: { mailCode: 'off' }, as: withoutCodes },
  {
    title: 'without codes by text message',
    of: ['kratos', 'supabase'],
    policy: { mailCode: 'withoutPassword', smsCode: 'off' },
    as: withoutTexts,
  },
  {
    title: 'with its mails held back',
    of: ['auth0', 'wordpress'],
    policy: { mailCode: 'off' },
    start: { mails: 'none' },
    as: heldBack,
  },
  {
    title: 'without codes for users of company connections',
    of: ['auth0', 'clerk', 'keycloak', 'supabase'],
    policy: { mailCode: 'withoutPassword' },
    args: ['--no-enterprise-mail-codes'],
    start: { enterpriseMailCodes: false },
    as: leftOut,
  },
  {
    title: 'where everybody must have a second factor',
    of: ['auth0', 'keycloak'],
    policy: { mailCode: 'withoutPassword', forceMfa: true },
    as: reEnrolled,
  },
  {
    title: 'with a password source',
    of: ['clerk', 'cognito'],
    policy: { mailCode: 'withoutPassword' },
    atSource: true,
    as: withSource,
  },
];

test('every user signs in as predicted, and in no other way', async (t) => {
  const texts = await startSmsGateway();
  t.after(() => texts.stop());
  const stage = { ...(await openStage(t, { SMS_URL: texts.url }, { host: 'localhost' })), texts };
  const runs: [Circumstances, Ran[]][] = [];
  for (const [n, given] of CIRCUMSTANCES.entries()) {
    const { of, as = (user) => user } = given;
    const cases = CASES.filter(({ source }) => of?.includes(source) ?? true);
    const changed = cases.map((one) => ({ ...one, users: one.users.map(as) }));
    runs.push([given, await runAll(stage, changed, { ...given, prefix: n === 0 ? '' : `run${n}-` })]);
  }
  for (const [{ title }, run] of runs) {
    for (const one of run) await t.test([one.given.source, title].filter(Boolean).join(', '), () => compare(one));
  }
  for (const [{ title }, run] of runs) {
    if (title) t.diagnostic(`${title[0]?.toUpperCase()}${title.slice(1)}:`);
    report(t, run);
  }
  const shown = new Set(runs.flatMap(([, run]) => run.flatMap(({ given }) => given.users.flatMap(causesOf))));
  assert.deepEqual(
    [
      'PASSWORD_SOURCE',
      'PASSKEY',
      'SMS_CODE',
      'SMS_OFF',
      'MAILS_HELD',
      'ONLY_ENTERPRISE',
      'SECOND_FACTOR_RE_ENROL',
    ].filter((id) => !shown.has(id)),
    [],
    'each has users',
  );
});

const causesOf = ({ way, cause, changes }: WaysUser): string[] => [way, ...(cause ? [cause] : []), ...changes];

type Given = Circumstances & { prefix: string };

interface Ran extends Omit<Imported, 'org'> {
  tried: Tried[];
}

/** Imports all before the first user tries anything, so that the mails of the imports are known. */
async function runAll(stage: Stage, cases: readonly WaysCase[], given: Given): Promise<Ran[]> {
  const before = stage.smtp.mails.length;
  // A passkey has one user in the instance: that of this run. And a network may have 30 texts sent in an hour.
  await stage.pool.query('delete from user_passkeys');
  await stage.pool.query('delete from attempt_counts');
  const done = await inTurns(cases, 4, (one) => importOne(stage, one, given));
  await waitFor(() => allSent(stage), { what: 'the mails of the imports' });
  const sent = mailsOf(stage.smtp, before);
  return inTurns(done, 4, ({ org, ...one }) => tryAll(stage, org, one, sent));
}

async function importOne(stage: Stage, given: WaysCase, under: Given): Promise<Imported> {
  const { policy, args = [], start, prefix, atSource } = under;
  const org = await stage.newOrg();
  await setLoginPolicy(stage, org.orgId, { smsCode: 'withoutPassword', ...policy });
  const source = atSource ? ['--password-source', await addPasswordSource(stage, org.orgId)] : [];
  const ids = prefix === '' ? [] : ['--id-prefix', prefix];
  return importCase(stage, org, given, { args: [...args, ...source, ...ids], start });
}

async function allSent({ pool }: Stage): Promise<boolean> {
  return (
    (
      await pool.query(`select from mail_outbox m left join imports i on i.id = m.import_id
    where m.state = 'pending' and i.mails is distinct from 'held' limit 1`)
    ).rowCount === 0
  );
}

async function tryAll(stage: Stage, org: TestOrg, one: Omit<Ran, 'tried'>, sent: MailsOf): Promise<Ran> {
  const tried = await inTurns(one.given.users, 3, (user) => tryWays(stage, org, user, sent));
  return { ...one, tried };
}

function compare({ given, predicted, imported, counts, tried, shown }: Ran): void {
  const users = given.users.map((user) => [user.who, expectedOf(user)]);
  const of = (found: Map<string, SignIn>) => given.users.map((user) => [user.who, found.get(nameOf(user))]);
  assert.deepEqual(of(predicted), users, shown);
  assert.deepEqual(of(imported), users, 'the import predicts what its dry run did');
  assert.equal(predicted.size, users.length, shown);
  assert.deepEqual(
    given.users.map(({ who }, index) => [who, tried[index]]),
    given.users.map((user) => [user.who, outcomeOf(expectedOf(user), user)]),
  );
  const counted = Object.values(counts.ways).reduce((sum, count) => sum + count, 0);
  assert.equal(counted, users.length, 'the counts of ways add up to the users');
}

function expectedOf({ way, cause, changes }: WaysUser): SignIn {
  return { way, ...(cause === undefined ? {} : { cause }), changes };
}

/** What must happen if the prediction is right: only this way works. */
function outcomeOf(
  { way, cause, changes }: SignIn,
  { address, setsUpFactor = false, codeToo = false }: WaysUser,
): Tried {
  const isPerhaps = cause === 'UNKNOWN_PASSWORD';
  const byName = way === 'PASSWORD' || way === 'PASSWORD_SOURCE' || isPerhaps;
  const getsMail = changes.includes('GETS_MAIL');
  // The mail verifies the address, to which the codes go from then on.
  const isVerified = getsMail && (byName || cause === 'SECOND_FACTOR_UNUSABLE');
  return {
    wrongPassword: false,
    byName,
    // A code has verified the address.
    byAddress: byName && address !== undefined && !changes.includes('TYPES_USER_NAME'),
    // The factor comes first.
    mustChange: byName && changes.includes('NEW_PASSWORD') && !setsUpFactor,
    code: way === 'MAIL_CODE' || codeToo,
    setsUpFactor,
    mails: getsMail ? 1 : 0,
    initLink: getsMail && !isVerified,
    text: way === 'SMS_CODE',
    passkey: way === 'PASSKEY',
    verifyLink: isVerified,
  };
}

/** The way in which the user got in. */
function actualWay({ byName, byAddress, code, initLink, text, passkey }: Tried): string {
  if (passkey) return 'PASSKEY';
  if (text) return 'SMS_CODE';
  if (code) return 'MAIL_CODE';
  if (byName || byAddress) return 'PASSWORD';
  return initLink ? 'INIT_MAIL' : 'NONE';
}

function report(t: TestContext, all: readonly Ran[]): void {
  for (const { given, predicted, tried } of all) {
    const ways = given.users.map((user) => predicted.get(nameOf(user))?.way ?? 'none predicted');
    const right = tried.filter(
      (one, index) => actualWay(one) === ways[index]?.replace('PASSWORD_SOURCE', 'PASSWORD'),
    ).length;
    const counted = [...new Set(ways)].map((way) => `${ways.filter((one) => one === way).length} ${way}`);
    t.diagnostic(`${given.source}: ${ways.length} users (${counted.join(', ')}), ${right} predicted = actual`);
  }
  const users = all.reduce((sum, { given }) => sum + given.users.length, 0);
  t.diagnostic(`${all.length} sources, ${users} users`);
}

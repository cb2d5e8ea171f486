/** How the users of an import sign in: predicted for each item, counted, searched and reported. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { CAUSES, CHANGES, WAYS } from '../../../src/contract/sign-in.ts';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { hashItem } from '../../../src/imports/run/process-job.ts';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { startApi, type TestApi, unique } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { entry, HASH, openWriterPool } from '../../support/imports/imports.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
let pool: Pool;
let writer: Pool;
let orgId: string;
before(async () => {
  api = await startApi();
  pool = api.deps.pool;
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
beforeEach(async () => {
  orgId = (await api.call('POST', '/management/v1/orgs', { name: unique('Ways') })).body.id;
});
after(async () => {
  await writer.end();
  await api.stop();
});

const NO_HASH = { hashedPassword: undefined };
const STATES = { inactive: 'USER_STATE_INACTIVE', locked: 'USER_STATE_LOCKED' };

/** One user of every kind, with the expected way, cause and changes; `-`: none, as the user fails. */
function mixed(prefix: string): [entry: object, expected: string][] {
  const one = (name: string, user = {}, outer = {}, old?: object) => {
    const made = entry(`${prefix}-${name}`, user, outer);
    return old === undefined ? made : { ...made, oldSignIn: old };
  };
  const unverified = (name: string) => ({ email: { email: `${prefix}-${name}@example.com`, isEmailVerified: false } });
  const link = { idps: [{ configId: 'google', externalUserId: `${prefix}-1` }] };
  const relay = { email: { email: `${prefix}@privaterelay.appleid.com`, isEmailVerified: true } };
  const noAddress = { email: undefined, userName: `${prefix}-name` };
  return [
    [one('usual'), 'PASSWORD'],
    [one('named', { ...unverified('named'), userName: `${prefix}-named` }), 'PASSWORD TYPES_USER_NAME GETS_MAIL'],
    [one('new', { passwordChangeRequired: true, ...relay }), 'PASSWORD RELAY_ADDRESS NEW_PASSWORD'],
    [one('link', link), 'PASSWORD LINK_UNUSED'],
    [
      one('lost', {}, {}, { lost: ['secondFactor', 'passkey', 'recoveryCodes'] }),
      'PASSWORD SECOND_FACTOR_LOST PASSKEYS_LOST RECOVERY_CODES_LOST',
    ],
    [one('perhaps', {}, {}, { password: 'perhaps' }), 'MAIL_CODE/UNKNOWN_PASSWORD'],
    [one('none', NO_HASH), 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
    [
      one('google', { ...NO_HASH, idps: [{ configId: 'google', externalUserId: `${prefix}-2` }] }),
      'MAIL_CODE/PROVIDER_NOT_SET_UP GETS_MAIL',
    ],
    [
      one('work', NO_HASH, {}, { ways: ['enterprise'] }),
      'MAIL_CODE/PROVIDER_NOT_SET_UP GETS_MAIL ENTERPRISE_LINK_UNUSED',
    ],
    [one('bare', { ...NO_HASH, ...noAddress }), 'NONE/NO_ADDRESS'],
    [one('off', {}, { state: STATES.inactive }), 'NONE/INACTIVE'],
    [one('stop', {}, { state: STATES.locked }), 'NONE/LOCKED'],
    [one('bad', { email: { email: 'x' } }), '-'],
    [one('usual'), '-'],
  ];
}

const withoutEmail = 'withoutEmail=true';
const call = (method: string, path: string, body?: unknown) => api.call(method, `/admin/v1/imports/${path}`, body);
const result = async (id: string) => (await call('GET', id)).body;

async function accept(users: object[], query = ''): Promise<string> {
  const answer = await api.call('POST', `/admin/v1/import?${query}`, bulk(orgId, users));
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.importId;
}

async function run(id: string, kind: 'fail' | 'skip' | 'update' | 'dry'): Promise<void> {
  const { rows } = await pool.query<{ ordinal: number }>(
    `select ordinal from import_items where import_id = $1 and state = 'pending' order by ordinal`,
    [id],
  );
  const store = kind === 'fail' ? batchStore(writer, SETTINGS) : specialStores(writer, SETTINGS)[kind];
  await store.write(
    id,
    rows.map(({ ordinal }) => ordinal),
  );
}

interface Predicted {
  signIn?: { way: string; cause?: string; changes: string[] };
}

const shown = ({ signIn }: Predicted) =>
  signIn === undefined
    ? '-'
    : [signIn.cause === undefined ? signIn.way : `${signIn.way}/${signIn.cause}`, ...signIn.changes].join(' ');

async function predictions(id: string, query = ''): Promise<string[]> {
  const found: string[] = [];
  for (let token = ''; ; ) {
    const { body } = await call('GET', `${id}/items?pageSize=5&pageToken=${token}${query}`);
    found.push(...body.items.map(shown));
    token = body.nextPageToken;
    if (token === '') return found;
  }
}

function causesOf(expected: readonly string[]): Record<string, Record<string, number>> {
  const found: Record<string, Record<string, number>> = {};
  for (const text of expected) {
    const [way = '', cause] = (text.split(' ')[0] ?? '').split('/');
    if (cause === undefined) continue;
    const ofWay = found[way] ?? {};
    found[way] = { ...ofWay, [cause]: (ofWay[cause] ?? 0) + 1 };
  }
  return found;
}

/** The counts say what the items say, and the searches find what the counts say. */
async function requireCounted(id: string, expected: readonly string[]): Promise<void> {
  assert.deepEqual(await predictions(id), expected);
  const { signIn: all, counts } = await result(id);
  const { links: _, ...signIn } = all;
  const words = expected.flatMap((text) => text.split(/[ /]/));
  const times = (word: string) => words.filter((one) => one === word).length;
  const counted = (ids: readonly string[]) => Object.fromEntries(ids.map((id) => [id, times(id)]));
  const some = (ids: readonly string[]) => Object.fromEntries(Object.entries(counted(ids)).filter(([, n]) => n > 0));
  assert.deepEqual(signIn, {
    ways: counted(WAYS),
    causes: some(Object.keys(CAUSES)),
    causesByWay: causesOf(expected),
    changes: some(Object.keys(CHANGES)),
  });
  const sum = Object.values(signIn.ways as Record<string, number>).reduce((a, b) => a + b, 0);
  assert.equal(sum, counts.total - counts.failed - counts.skipped - counts.undone);
  for (const way of WAYS) {
    const of = expected.filter((text) => text.split(/[ /]/)[0] === way);
    assert.deepEqual(await predictions(id, `&signIn=${way}`), of, way);
  }
}

test('a dry run predicts what the import then says, and both count it', async () => {
  const users = mixed('dry');
  const expected = users.map(([, text]) => text);
  const entries = users.map(([user]) => user);
  const dry = await accept(entries, `dryRun=true&${withoutEmail}`);
  await run(dry, 'dry');
  await requireCounted(dry, expected);
  const real = await accept(entries, withoutEmail);
  assert.equal(shown((await call('GET', `${real}/items/5`)).body), expected[5], 'before a worker takes it');
  await run(real, 'fail');
  await requireCounted(real, expected);
  const { body: lines } = await call('GET', `${real}/report`);
  assert.deepEqual(
    lines
      .trim()
      .split('\n')
      .map((line: string) => shown(JSON.parse(line))),
    expected,
  );
  const { body: csv } = await call('GET', `${real}/report?format=csv`);
  const [head, , named] = csv.split('\r\n');
  assert.match(head, /,fields,signInWay,signInCause,signInChanges,withoutEmail$/);
  assert.match(named, /,PASSWORD,,TYPES_USER_NAME; GETS_MAIL,$/);
});

test('the fast path stores the same facts', async () => {
  const users = Array.from({ length: 40 }, (_, n) => ({
    userId: unique('fast'),
    state: ['USER_STATE_ACTIVE', STATES.inactive, STATES.locked][n % 3],
    user: {
      userName: n % 5 === 0 ? `FAST-${n}@example.com` : `fast-${n}`,
      profile: { firstName: 'A', lastName: 'B' },
      email: {
        email: `fast-${n}@${n % 7 === 0 ? 'privaterelay.appleid.com' : 'example.com'}`,
        isEmailVerified: n % 4 > 1,
      },
      ...(n % 2 === 0 ? { hashedPassword: { value: HASH } } : {}),
      passwordChangeRequired: n % 11 === 0,
    },
  }));
  const facts = async (id: string) =>
    (await pool.query('select sign_in from import_items where import_id = $1 order by ordinal', [id])).rows;
  const fast = await accept(users);
  const slow = await accept(users, 'dryRun=true');
  assert.deepEqual(await facts(fast), await facts(slow));
  await run(slow, 'dry');
  assert.deepEqual((await result(fast)).signIn, (await result(slow)).signIn);
});

test('without mail codes the mail of the import is the way, unless it is held', async () => {
  const policy = { mailCode: 'off', forceMfa: true };
  const put = await api.call('PUT', '/management/v1/policies/login', policy, { orgId });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  const users = [
    entry('off-1', NO_HASH),
    { ...entry('off-2'), oldSignIn: { password: 'perhaps', lost: ['secondFactor'] } },
  ];
  const second = 'PASSWORD/UNKNOWN_PASSWORD SECOND_FACTOR_RE_ENROL';
  const dry = await accept(users, 'dryRun=true');
  await run(dry, 'dry');
  await requireCounted(dry, ['INIT_MAIL/NO_PASSWORD GETS_MAIL', second]);
  const held = await accept(users, 'mails=none');
  await run(held, 'fail');
  await requireCounted(held, ['NONE/MAILS_HELD', second]);
  assert.equal((await call('POST', `${held}/_send_mails`, {})).status, 200);
  await requireCounted(held, ['INIT_MAIL/NO_PASSWORD GETS_MAIL', second]);
});

test('a password source is a way, of users without a password of their own', async () => {
  const source = { name: 'Old', kind: 'http', settings: { url: 'https://old.example.com' } };
  const path = '/management/v1/password_sources';
  const added = await api.call('POST', path, source, { orgId });
  const id = added.body.sourceId ?? added.body.passwordSourceId ?? added.body.id;
  assert.ok(id, JSON.stringify(added.body));
  const dry = await accept([entry('src-1', NO_HASH), entry('src-2')], `dryRun=true&passwordSource=${id}`);
  await run(dry, 'dry');
  await requireCounted(dry, ['PASSWORD_SOURCE/PASSWORD_AT_SOURCE', 'PASSWORD']);
});

test('users who exist: skipped ones have no prediction, updated ones that of the user as changed', async () => {
  const first = await accept([entry('ex-1'), entry('ex-2', NO_HASH), entry('ex-3')]);
  await run(first, 'fail');
  const again = [
    { ...entry('ex-1', NO_HASH), oldSignIn: { lost: ['passkey'] } },
    entry('ex-2'),
    entry('ex-3'),
    entry('ex-4', NO_HASH),
  ];
  Object.assign(again[0]?.user.profile ?? {}, { lastName: 'Changed' });
  for (const kind of ['dry', 'skip'] as const) {
    const id = await accept(again, kind === 'dry' ? 'dryRun=true&onExisting=skip' : 'onExisting=skip&dryRun=true');
    await run(id, 'dry');
    await requireCounted(id, ['-', '-', '-', 'MAIL_CODE/NO_PASSWORD GETS_MAIL']);
  }
  const expected = ['PASSWORD PASSKEYS_LOST', 'PASSWORD', '-', 'MAIL_CODE/NO_PASSWORD GETS_MAIL'];
  const dry = await accept(again, 'dryRun=true&onExisting=update');
  await run(dry, 'dry');
  await requireCounted(dry, expected);
  const real = await accept(again, 'onExisting=update');
  await run(real, 'update');
  await requireCounted(real, expected);
});

test('failed, retried, corrected and undone users count as they are now', async () => {
  const taken = await accept([entry('re-1')]);
  await run(taken, 'fail');
  const bad = { ...entry('re-2', { email: { email: ' re-2@example.com ' } }), oldSignIn: { lost: ['passkey'] } };
  const id = await accept([entry('re-1'), bad, entry('re-3', NO_HASH)]);
  await run(id, 'fail');
  const third = 'MAIL_CODE/NO_PASSWORD GETS_MAIL';
  await requireCounted(id, ['-', '-', third]);
  const { causes } = (await call('GET', `${id}/causes`)).body;
  const cause = causes.find((one: { field?: string }) => one.field === 'user.email.email')?.cause;
  const fixed = await call('POST', `${id}/_fix`, { cause, remedy: 'trim-email' });
  assert.equal(fixed.body.changed, 1, JSON.stringify(fixed.body));
  await pool.query(`delete from users where id = 'id-re-1' and org_id = $1`, [orgId]);
  assert.equal((await call('POST', `${id}/_retry`, {})).status, 200);
  await run(id, 'fail');
  const items = await predictions(id);
  assert.match(items[1] ?? '', /^PASSWORD .*PASSKEYS_LOST/);
  await requireCounted(id, items);
});

test('the check of a draft predicts what the import of its entries says', async () => {
  const users = mixed('ck');
  const id = await accept(
    users.map(([user]) => user),
    `draft=true&${withoutEmail}`,
  );
  assert.equal((await call('POST', `${id}/_check`, {})).status, 200);
  assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
  const { draft } = await result(id);
  const expected = users.map(([, text]) => text);
  await requireCounted(draft.check.importId, expected);
  assert.equal((await call('POST', `${id}/_start`, { timeout: '10m' })).status, 200);
  await run(id, 'fail');
  await requireCounted(id, expected);
  await requireCounted(draft.check.importId, expected);
});

test('an import of an earlier version has no predictions', async () => {
  const id = await accept([entry('old-1')]);
  await pool.query('update imports set sign_ins_of = null where id = $1', [id]);
  assert.deepEqual(await predictions(id), ['-']);
  assert.deepEqual(await predictions(id, '&signIn=PASSWORD'), []);
  assert.equal((await result(id)).signIn, undefined);
});

test('a policy that changes changes the predictions', async () => {
  const id = await accept([entry('po-1', NO_HASH)]);
  await run(id, 'fail');
  await requireCounted(id, ['MAIL_CODE/NO_PASSWORD GETS_MAIL']);
  assert.equal((await api.call('PUT', '/management/v1/policies/login', { mailCode: 'off' }, { orgId })).status, 200);
  await requireCounted(id, ['INIT_MAIL/NO_PASSWORD GETS_MAIL']);
});

test('a policy that changes while an import runs changes its counts a moment later, and at once when it has ended', async () => {
  const setMailCode = async (mailCode: string) =>
    assert.equal((await api.call('PUT', '/management/v1/policies/login', { mailCode }, { orgId })).status, 200);
  const wayOf = async (id: string) => {
    const { ways } = (await result(id)).signIn;
    return Object.keys(ways).filter((way) => ways[way] > 0);
  };
  const id = await accept([entry('pm-1', NO_HASH)]);
  assert.deepEqual(await wayOf(id), ['MAIL_CODE']);
  await setMailCode('off');
  await waitFor(async () => (await wayOf(id))[0] === 'INIT_MAIL', { what: 'the counts by the new policy' });
  await setMailCode('all');
  await run(id, 'fail');
  assert.deepEqual(await wayOf(id), ['MAIL_CODE']);
});

const WORK = { ways: ['enterprise'] };

/** The users of an import by name: left out of mail codes or not, and the mails that are due for them. */
async function written(names: readonly string[]): Promise<[boolean, string[]][]> {
  const { rows } = await pool.query(
    `select u.user_name as name, u.without_mail_codes as "isOut",
       array(select m.kind::text from mail_outbox m where m.user_id = u.id order by m.id) as mails
     from users u where u.org_id = $1`,
    [orgId],
  );
  const of = new Map(rows.map(({ name, isOut, mails }) => [name, [isOut, mails]]));
  return names.map((name) => of.get(name) as [boolean, string[]]);
}

test('an import leaves users of company connections out of mail codes, and its dry run says so', async () => {
  const email = (name: string, isEmailVerified = true) => ({
    email: { email: `${name}@example.com`, isEmailVerified },
  });
  const people = (prefix: string) => [
    {
      ...entry(`${prefix}-work`, { ...NO_HASH, ...email(`${prefix}-work`), userName: `${prefix}-work` }),
      oldSignIn: WORK,
    },
    { ...entry(`${prefix}-both`, { ...email(`${prefix}-both`, false), userName: `${prefix}-both` }), oldSignIn: WORK },
    entry(`${prefix}-none`, { ...NO_HASH, userName: `${prefix}-none` }),
    entry(`${prefix}-usual`, { userName: `${prefix}-usual` }),
  ];
  const expected = [
    'NONE/ONLY_ENTERPRISE ENTERPRISE_LINK_UNUSED',
    'PASSWORD TYPES_USER_NAME GETS_MAIL ENTERPRISE_LINK_UNUSED',
    'MAIL_CODE/NO_PASSWORD GETS_MAIL',
    'PASSWORD',
  ];
  const users = people('out');
  const dry = await accept(users, 'dryRun=true&enterpriseMailCodes=false');
  await run(dry, 'dry');
  await requireCounted(dry, expected);
  const { mailKinds } = await result(dry);
  assert.deepEqual(mailKinds, { verification: 1, initialisation: 1 });
  for (const kind of ['fail', 'skip'] as const) {
    const rule = kind === 'skip' ? '&onExisting=skip' : '';
    const sent = kind === 'skip' ? people('skip') : users;
    const id = await accept(sent, `enterpriseMailCodes=false${rule}`);
    await run(id, kind);
    await requireCounted(id, expected);
    assert.deepEqual(await written(sent.map((one) => String(one.user.userName))), [
      [true, []],
      [true, ['verify_email']],
      [false, ['initialise']],
      [false, []],
    ]);
  }
});

test('an update leaves users out and ends their codes, and never takes that back', async () => {
  const work = { ...entry('up-work', { ...NO_HASH, userName: 'up-work' }), oldSignIn: WORK };
  const first = await accept([{ ...work }]);
  await run(first, 'fail');
  await requireCounted(first, ['MAIL_CODE/PROVIDER_NOT_SET_UP GETS_MAIL ENTERPRISE_LINK_UNUSED']);
  assert.deepEqual(await written(['up-work']), [[false, ['initialise']]]);
  const out = 'NONE/ONLY_ENTERPRISE ENTERPRISE_LINK_UNUSED';
  const query = 'onExisting=update&enterpriseMailCodes=false';
  const dry = await accept([{ ...work }], `dryRun=true&${query}`);
  await run(dry, 'dry');
  await requireCounted(dry, [out]);
  const second = await accept([{ ...work }], query);
  await run(second, 'update');
  await requireCounted(second, [out]);
  assert.deepEqual(await written(['up-work']), [[true, []]]);
  assert.equal((await result(first)).mails.pending, 0, 'the first import has no mail to send any more');
  Object.assign(work.user.profile as object, { lastName: 'Changed' });
  const third = await accept([{ ...work }], 'onExisting=update');
  await run(third, 'update');
  await requireCounted(third, [out]);
  assert.deepEqual(await written(['up-work']), [[true, []]]);
  const put = await api.call('PUT', `/v2beta/users/${work.userId}/mail_codes`, { allowed: true });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  assert.deepEqual(await written(['up-work']), [[false, []]]);
});

test('a plain password that its user may not know is one like a hash', async () => {
  const plain = 'a plain one';
  const user = { ...entry('plain-1', { ...NO_HASH, password: plain }), oldSignIn: { password: 'perhaps' } };
  const id = await accept([user]);
  const { secrets, hasher } = api.deps;
  await hashItem({ pool, secrets, hash: async (text, mark) => mark(await hasher.hash(text)) }, id, 0);
  await run(id, 'fail');
  await requireCounted(id, ['MAIL_CODE/UNKNOWN_PASSWORD']);
  const checks = { user: { userId: user.userId } };
  const asked = await api.call('POST', '/v2beta/sessions', { checks, challenges: { otpEmail: { returnCode: {} } } });
  assert.equal(asked.status, 201, JSON.stringify(asked.body));
  const known = { ...checks, password: { password: plain } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks: known })).status, 201);
});

test('where addresses alone sign in, an address that is not verified does not', async () => {
  const put = await api.call('PUT', '/management/v1/orgs/me/sign_in_names', { signInNames: ['email'] }, { orgId });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  const email = (name: string, isEmailVerified: boolean) => ({
    userName: `${name}-name`,
    email: { email: `${name}@example.com`, isEmailVerified },
  });
  const id = await accept([entry('ad-1', email('ad-1', true)), entry('ad-2', email('ad-2', false))]);
  await run(id, 'fail');
  await requireCounted(id, ['PASSWORD', 'NONE/ADDRESS_NOT_VERIFIED GETS_MAIL']);
  const open = async (loginName: string) => {
    const checks = { user: { loginName }, password: { password: 'secret' } };
    return (await api.call('POST', '/v2beta/sessions', { checks })).status;
  };
  assert.deepEqual(
    [await open('ad-1@example.com'), await open('ad-2@example.com'), await open('ad-2-name')],
    [201, 400, 400],
  );
});

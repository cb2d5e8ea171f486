/**
 * With the providers of the presets set up, everybody who came by one comes back by its button, as the same user and as
 * predicted; nobody else does. Of each source that exports links: its export is imported by the command line, then each
 * user goes to the sign-in page over HTTP.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { type TestContext } from 'node:test';
import { presetOfAlias } from '../../src/contract/idp-presets.ts';
import type { SignIn } from '../../src/contract/sign-in.ts';
import { addProvider } from '../signin/providers/traveller.ts';
import { must, type TestOrg } from '../support/calls.ts';
import { bulk } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { waitFor } from '../support/wait.ts';
import { nameOf, type WaysUser, waysCases, withoutCodes } from './cases.ts';
import { hasEnded, type Imported, importCase, inTurns, predictionsOf } from './import-case.ts';
import { openStage, type Stage, setLoginPolicy } from './stage.ts';
import { type MailsOf, mailsOf } from './try.ts';
import { type Known, openProviders, type Providers, pressButton, type Visited } from './visit-provider.ts';

const isUnused = (changes: readonly string[]) => changes.some((change) => change.endsWith('LINK_UNUSED'));
const hasLink = ({ cause, changes }: WaysUser) => cause === 'PROVIDER_NOT_SET_UP' || isUnused(changes);
const CASES = waysCases().filter(({ users }) => users.some(hasLink));

test('users come back by the buttons of their providers, as predicted', async (t) => {
  const stage = await openStage(
    t,
    { IDP_ALLOW_PRIVATE: 'true', SMS_URL: 'http://127.0.0.1:9/' },
    { host: 'localhost' },
  );
  const providers = await openProviders(t, stage);
  const elsewhere = (await stage.newOrg()).orgId;
  const before = stage.smtp.mails.length;
  const done = await inTurns(CASES, 4, async (given) => importCase(stage, await quietOrg(stage), given));
  await waitFor(() => noneWaits(stage), { what: 'the mails of the imports' });
  const sent = mailsOf(stage.smtp, before);
  const later = stage.smtp.mails.length;
  const connected = await inTurns(done.filter(hasConnections), 4, (one) => importConnected(stage, providers, one));
  await waitFor(() => noneWaits(stage), { what: 'the mails of the imports with connections' });
  const sentLater = mailsOf(stage.smtp, later);
  const rows: Row[] = [];
  for (const one of done) {
    await t.test(one.given.source, async () => {
      rows.push(await compare({ stage, providers, sent, elsewhere }, one));
    });
  }
  for (const one of connected) {
    await t.test(`${one.given.source}, with its connections set up before the import`, () =>
      compareConnected({ stage, providers, sent: sentLater, elsewhere }, one),
    );
  }
  await t.test('nobody comes by an account that two users hold', () => holdTwice(stage, providers));
  await t.test('an account at Microsoft is known by its oid', () => comeByMicrosoft(stage, providers));
  report(t, rows);
});

interface Surroundings {
  stage: Stage;
  providers: Providers;
  sent: MailsOf;
  /** An organization without users. */
  elsewhere: string;
}

interface Row {
  source: string;
  users: number;
  predicted: number;
  arrived: number;
  /** Beside a password that signs in, too. */
  besidePassword: number;
}

async function compare(around: Surroundings, done: Imported): Promise<Row> {
  const { given, predicted, imported } = done;
  assert.deepEqual([...imported], [...predicted]);
  const accounts = await accountsOf(around.stage, done.org.orgId);
  const row = { source: given.source, users: given.users.length, predicted: 0, arrived: 0, besidePassword: 0 };
  assert.deepEqual([accounts.size, predicted.size], [row.users, row.users]);
  const company = await setUpConnections(around, done);
  for (const user of given.users) {
    const account = accounts.get(nameOf(user)) as Account;
    const before = predicted.get(nameOf(user)) as SignIn;
    checkMails(around.sent, user, before);
    if (!comesByButton(user, before))
      assert.deepEqual([before.way, before.cause], [withoutCodes(user).way, user.cause]);
    const found = company?.predicted.get(nameOf(user)) ?? before;
    const { sub, told } = await tryButton(around, done, { user, account, company: company?.known });
    const comes = comesByButton(user, found);
    assert.equal(sub, comes ? account.id : undefined, `${user.who}: ${JSON.stringify({ found, account, told })}`);
    const isOld = given.files.some((file) => readFileSync(file).includes(account.id));
    assert.ok(!comes || isOld, `${account.id} is not the id in the other system`);
    if (found.way === 'PROVIDER') row.predicted += 1;
    if (comes) row[found.way === 'PROVIDER' ? 'arrived' : 'besidePassword'] += 1;
    if (found.way === 'PROVIDER' && row.arrived === 1) await tryOutside(around, done, { user, account });
  }
  return row;
}

/** An organization whose import mails nobody who has a way in. */
async function quietOrg(stage: Stage): Promise<TestOrg> {
  const org = await stage.newOrg();
  await setLoginPolicy(stage, org.orgId, { mailCode: 'off', smsCode: 'withoutPassword', initMail: 'unlessWayIn' });
  return org;
}

type Connected = Imported & { company: Known; aliases: string[] };

const hasConnections = ({ counts }: Imported) => connectionsOf(counts).length > 0;

/** The names that lead to no provider and that no preset has: the connections of companies. */
function connectionsOf({ links = [] }: Imported['counts']): string[] {
  return links.filter(({ preset }) => preset === undefined).map(({ name }) => name);
}

/** The export of a case again, into an organization where its connections are set up before. */
async function importConnected(stage: Stage, { company: at }: Providers, done: Imported): Promise<Connected> {
  const org = await quietOrg(stage);
  const aliases = connectionsOf(done.counts);
  const idpId = await addProvider(stage.api, at, { orgId: org.orgId, type: 'oidc', name: 'The company', aliases });
  const again = await importCase(stage, org, done.given, { args: ['--id-prefix', 'connected-'] });
  return { ...again, company: { at, idpId }, aliases };
}

/** Users of connections come by them, and get no mail: they have a way in. */
async function compareConnected(around: Surroundings, done: Connected): Promise<void> {
  const { given, predicted, imported, company, aliases } = done;
  // Their passkeys are those of users of the first import: of another organization, so that a dry run does not tell.
  const isNew = ({ way }: SignIn) => way !== 'PASSKEY';
  assert.deepEqual(
    [...imported],
    [...predicted].filter(([, signIn]) => isNew(signIn)),
  );
  const accounts = await accountsOf(around.stage, done.org.orgId);
  let came = 0;
  for (const user of given.users.filter((one) => isNew(predicted.get(nameOf(one)) as SignIn))) {
    const account = accounts.get(nameOf(user)) as Account;
    const found = predicted.get(nameOf(user)) as SignIn;
    checkMails(around.sent, user, found);
    const { sub, told } = await tryButton(around, done, { user, account, company });
    const comes = comesByButton(user, found);
    assert.equal(sub, comes ? account.id : undefined, `${user.who}: ${JSON.stringify({ found, account, told })}`);
    if (comes && account.links.some(({ name }) => aliases.includes(name))) came += 1;
  }
  assert.ok(came > 0, 'nobody came by a connection');
}

interface Tried {
  user: WaysUser;
  account: Account;
  /** The provider of the organization. */
  company?: Known | undefined;
}

/** Sets up a provider of the organization for the connections of companies. Returns the predictions of today. */
async function setUpConnections({ stage, providers }: Surroundings, { org, counts, importId }: Imported) {
  const aliases = connectionsOf(counts);
  if (aliases.length === 0) return undefined;
  const { company: at } = providers;
  const fields = { orgId: org.orgId, type: 'oidc', name: 'The company', aliases };
  const idpId = await addProvider(stage.api, at, fields);
  return { known: { at, idpId }, predicted: await predictionsOf(stage, importId) };
}

/** Nobody comes to another organization, nor while they are inactive. */
async function tryOutside(around: Surroundings, done: Imported, tried: Tried): Promise<void> {
  const { stage, elsewhere } = around;
  const stranger = await tryButton(around, { org: { ...done.org, orgId: elsewhere } }, tried);
  assert.deepEqual([stranger.sub, /not connected to an account here/.test(stranger.told)], [undefined, true]);
  const setState = (state: string) =>
    stage.pool.query('update users set state = $2 where id = $1', [tried.account.id, state]);
  await setState('inactive');
  const inactive = await tryButton(around, done, tried);
  assert.deepEqual([inactive.sub, /Your account is deactivated/.test(inactive.told)], [undefined, true], inactive.told);
  await setState('active');
}

/** Users with a password may come by the button, too, unless their link is unused. */
function comesByButton(user: WaysUser, { way, changes }: SignIn): boolean {
  return way === 'PROVIDER' || (isUnused(user.changes) && !isUnused(changes));
}

/** Who has a link that signs in gets no mail. */
function checkMails(sent: MailsOf, user: WaysUser, { way, changes }: SignIn): void {
  const mails = user.address === undefined ? 0 : sent(user.address).length;
  assert.equal(mails, changes.includes('GETS_MAIL') ? 1 : 0, `mails to ${user.who}`);
  if (comesByButton(user, { way, changes })) assert.equal(mails, 0, `mails to ${user.who}, who has a way in`);
}

interface Account {
  id: string;
  name: string;
  links: { name: string; subject: string }[];
}

/** By each link of the user. Without one: somebody at Google whose id and verified address are those of the user. */
async function tryButton(
  { stage, providers }: Surroundings,
  { org }: Pick<Imported, 'org'>,
  { user, account, company }: Tried,
): Promise<Visited> {
  const links = account.links.length > 0 ? account.links : [{ name: 'google', subject: account.id }];
  const claims = user.address === undefined ? {} : { email: user.address, email_verified: true };
  let visited: Visited = { told: '' };
  for (const { name, subject } of links) {
    const known = providers.presets.get(presetOfAlias(name) ?? 'oidc') ?? company;
    assert.ok(known, `no provider has the name ${name}`);
    const visit = { ...known, orgId: org.orgId, subject, claims, totp: user.totp };
    visited = await pressButton(stage, providers, visit);
    if (visited.sub !== undefined) break;
  }
  return visited;
}

async function accountsOf({ pool }: Stage, orgId: string): Promise<Map<string, Account>> {
  const { rows } = await pool.query<Account>(
    `select u.id, u.user_name as name, coalesce(jsonb_agg(jsonb_build_object('name', l.idp_id,
       'subject', l.external_user_id)) filter (where l.idp_id is not null), '[]') as links
     from users u left join user_idp_links l on l.user_id = u.id where u.org_id = $1 and u.kind = 'human' group by u.id`,
    [orgId],
  );
  return new Map(rows.map((account) => [account.name, account]));
}

/** Of two imports, the second one brings a user with an account that a user of the first one has. */
async function holdTwice(stage: Stage, providers: Providers): Promise<void> {
  const org = await stage.newOrg();
  const visit = { ...(providers.presets.get('google') as Known), orgId: org.orgId, subject: '1234' };
  const ways: string[] = [];
  for (const name of ['first', 'second']) {
    const { way, cause } = await importLinked(stage, org, { name, configId: 'google-oauth2', subject: '1234' });
    const { sub } = await pressButton(stage, providers, visit);
    ways.push([way, cause, sub === undefined ? 'refused' : 'arrived'].join(' '));
  }
  assert.deepEqual(ways, ['PROVIDER  arrived', 'MAIL_CODE LINK_HELD_TWICE refused']);
}

/** Microsoft's `sub` is another one for each application, so that links have the `oid`; no export of a case has one. */
async function comeByMicrosoft(stage: Stage, providers: Providers): Promise<void> {
  const org = await stage.newOrg();
  const [oid, tid] = ['00000000-0000-0000-0000-00000000000b', '00000000-0000-0000-0000-00000000000a'];
  const given = { name: 'mia', configId: 'oauth_microsoft', subject: oid };
  assert.equal((await importLinked(stage, org, given)).way, 'PROVIDER');
  const visit = { ...(providers.presets.get('microsoft') as Known), orgId: org.orgId, subject: 'm-1' };
  const other = await pressButton(stage, providers, { ...visit, claims: { oid: tid, tid } });
  const { sub } = await pressButton(stage, providers, { ...visit, claims: { oid, tid } });
  assert.deepEqual([other.sub, sub], [undefined, 'mia']);
}

/** Imports a user without a password, with a link; returns the prediction once the import has ended. */
async function importLinked(
  stage: Stage,
  { orgId, ownerToken }: TestOrg,
  { name, configId, subject }: { name: string; configId: string; subject: string },
): Promise<Partial<SignIn>> {
  const idps = [{ configId, externalUserId: subject, displayName: '' }];
  const user = { ...entry(name, { hashedPassword: undefined, idps }), userId: name };
  const { importId } = (await must(stage.importBody(bulk(orgId, [user]), { token: ownerToken }))).body;
  await waitFor(() => hasEnded(stage, importId), { what: `the import of ${name}` });
  return (await predictionsOf(stage, importId)).get(name) ?? {};
}

async function noneWaits({ pool }: Stage): Promise<boolean> {
  return (await pool.query(`select from mail_outbox where state = 'pending' limit 1`)).rowCount === 0;
}

function report(t: TestContext, rows: readonly Row[]): void {
  for (const { source, users, predicted, arrived, besidePassword } of rows) {
    t.diagnostic(
      `${source}: ${users} users, ${predicted} PROVIDER predicted, ${arrived} arrived` +
        (besidePassword > 0 ? `, and ${besidePassword} with a password` : ''),
    );
  }
  const sum = (of: keyof Omit<Row, 'source'>) => rows.reduce((all, row) => all + row[of], 0);
  t.diagnostic(
    `${rows.length} sources, ${sum('users')} users, ${sum('predicted')} predicted, ${sum('arrived')} arrived`,
  );
}

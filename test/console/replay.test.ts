/**
 * Every form of the console, sent again after it has done its work, and from a second tab that shows an older page. The
 * forms are found on the pages, and the router says which must be found: a new form is tested as soon as it is mounted.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { STEP_NAMES } from '../../src/console/new-import/frame.ts';
import { REMEDIES } from '../../src/contract/remedies.ts';
import { buildApp } from '../../src/start/app.ts';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startUndoer } from '../../workers/rescuer.ts';
import { mountedRoutes } from '../roles/mounted.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { type Form, formsIn } from '../support/forms.ts';
import { addLinkRow } from '../support/idp-rows.ts';
import { bulk } from '../support/imports/bodies.ts';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { entry } from '../support/imports/imports.ts';
import { waitFor } from '../support/wait.ts';
import { type Answered, type Visitor, visitor } from './visitor.ts';

/** Forms for people who are not signed in, and the one that ends the session. */
const OPEN = /^\/console\/(?:sign-in|callback|signed-out|sign-out|assets)\b/;
const ACTIONS = ['pause', 'resume', 'retry', 'send_mails', 'sign_in_mails', 'cancel', 'undo'];
/** What a parameter of a route stands for, where each value is a form of its own. */
const VALUES: Record<string, readonly string[]> = {
  action: ACTIONS,
  // The step Files is the page where files are dropped, by a script.
  step: STEP_NAMES.filter((name) => name !== 'files'),
};

type Typed = Readonly<Record<string, string>>;

/** Forms that a person may mean twice, when they fill them in in two tabs. */
const TWICE = [
  /\/(?:clients|organizations|machines|providers)\/new$/,
  /\/providers\/[^/]+$/,
  /\/(?:tokens|keys|limits|login|claims|branding)$/,
  /\/(?:resend|reset)$/,
  /\/imports\/\d+\/retry$/,
  // What changed since is read or corrected again.
  /\/imports\/new\/\d+\/options$/,
  /\/fix\/[0-9a-f]{8}$/,
];

describe('a form that is sent again', () => {
  let api: TestApi;
  let own: SetUp;
  let person: Visitor;
  let cookie: string;
  let workers: { stop(): Promise<unknown> }[] = [];
  /** `/console/imports/7/pause`: the addresses that forms were sent to. */
  const sent = new Set<string>();

  before(async () => {
    api = await startApi();
    own = await api.setupOrg();
    person = await visitor(api, api.token);
    cookie = person.cookie;
  });
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await api.stop();
  });

  /** Keeps what the service remembers in the browser. */
  async function visit(ask: Promise<Answered>): Promise<Answered> {
    const answer = await ask;
    for (const set of answer.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      const [name] = pair.split('=');
      const others = cookie.split('; ').filter((one) => !one.startsWith(`${name}=`));
      cookie = [...others, pair].join('; ');
    }
    return answer;
  }

  const send = ({ action, fields }: Form, typed: Typed) => visit(person.post(action, { ...fields, ...typed }, cookie));

  async function formsOf(path: string): Promise<Form[]> {
    const { text } = await visit(person.get(path, cookie));
    return formsIn(text).filter(({ action }) => !OPEN.test(action));
  }

  /** What was done so far: every change has an event, and every mail and import a row. */
  async function done(): Promise<string> {
    await waitFor(idle, { what: 'the workers to be done' });
    const { rows } = await api.deps.pool.query(
      `select (select count(*)::int from events) as events, (select count(*)::int from audit_events) as audited,
         (select count(*)::int from mail_outbox) as mails, (select count(*)::int from imports) as imports`,
    );
    return JSON.stringify(rows[0]);
  }

  /** Without workers, nothing happens by itself. */
  async function idle(): Promise<boolean> {
    if (workers.length === 0) return true;
    const { rows } = await api.deps.pool.query(
      `select (select count(*) from imports where state in ('running', 'undoing'))
         + (select count(*) from import_preparations where requested_at is not null and check_id is null) as n`,
    );
    return Number(rows[0]?.n) === 0;
  }

  /**
   * Sends each form of a page from a tab, the same form again, and the form of a second tab that was opened before.
   * @param typed what a person types
   */
  async function replay(path: string, typed: Typed = {}): Promise<void> {
    await done();
    for (const { button } of await formsOf(path)) {
      await done();
      // An earlier form of the page may have ended this one.
      const open = async () => (await formsOf(path)).find((one) => one.button === button);
      const [tab, other] = [await open(), await open()];
      if (!tab || !other) continue;
      const where = `${button} (${tab.action})`;
      const first = await send(tab, typed);
      assert(first.status < 400, `${where} answers ${first.status}: ${problemIn(first.text)}`);
      const before = await done();
      const again = await send(tab, typed);
      assert(again.status < 400, `${where} answers ${again.status} the second time: ${problemIn(again.text)}`);
      assert.equal(await done(), before, `${where} was done twice`);
      const late = await send(other, typed);
      assert(late.status < 500, `${where} answers ${late.status} in a second tab: ${problemIn(late.text)}`);
      const { pathname } = new URL(tab.action, api.url);
      sent.add(pathname);
      if (!TWICE.some((pattern) => pattern.test(pathname))) {
        assert.equal(await done(), before, `${where} was done again in a second tab`);
      }
      // A page that it leads to, and the address itself, show how things are.
      for (const next of [late.headers.get('location'), tab.action]) {
        if (!next) continue;
        const shown = await visit(person.get(new URL(next, api.url).pathname, cookie));
        assert(shown.status < 500, `${next} after ${where} answers ${shown.status}`);
      }
    }
  }

  it('of people, programs and organizations', async () => {
    const human = async (name: string) => {
      const profile = { givenName: name, familyName: 'Form' };
      const email = { email: `${name}@form.example`, isVerified: false };
      const body = { username: name, profile, email, organization: { orgId: own.orgId } };
      return (await api.call('POST', '/v2beta/users/human', body)).body.userId as string;
    };
    const member = await human('member');
    const userId = await human('ann');
    const machine = (await api.machine(own.orgId)).userId;
    for (const action of ['resend', 'reset', 'lock', 'unlock', 'deactivate', 'reactivate']) {
      await replay(`/console/users/${userId}/${action}`);
    }
    await replay(`/console/users/${userId}/edit`, { nickName: 'Annie', phone: '+41 79 123 45 67' });
    await api.deps.pool.query('insert into user_factors (user_id, otp_sms) values ($1, true)', [userId]);
    await replay(`/console/users/${userId}/reset-factors`);
    const leftOut = await api.call('PUT', `/v2beta/users/${userId}/mail_codes`, { allowed: false });
    assert.equal(leftOut.status, 200, JSON.stringify(leftOut.body));
    await replay(`/console/users/${userId}/allow-codes`);
    await addLinkRow(api.deps.pool, userId, 'google', '117');
    await replay(`/console/users/${userId}/unlink?idp=google&account=117`);
    await replay(`/console/users/${userId}/delete`, { userName: 'ann' });
    for (const kind of ['tokens', 'keys']) {
      await replay(`/console/users/${machine}/${kind}`);
      const { text } = await person.get(`/console/users/${machine}/${kind}`);
      const [, remove = ''] = new RegExp(`href="([^"]*/${kind}/[^"/]+/remove)"`).exec(text) ?? [];
      await replay(remove);
    }
    await replay('/console/clients/new', { name: 'Shop', redirectUris: 'https://shop.example/callback' });
    const { result } = (await api.call('GET', '/admin/v1/clients')).body;
    const shop = result.find(({ name }: { name: string }) => name === 'Shop');
    await replay(`/console/clients/${shop.clientId}/claims`, { claims: 'keycloak' });
    await replay(`/console/clients/${shop.clientId}/edit`, { name: 'The shop' });
    await replay(`/console/clients/${shop.clientId}/remove`);
    await replay('/console/organizations/new', { name: 'Form Ltd' });
    const org = `/console/organizations/${own.orgId}`;
    await replay(org, { userId: member });
    await replay(`${org}/members/${member}/remove`);
    await replay(`${org}/machines/new`, { userName: 'reader', name: 'Reader' });
    await replay(`${org}/limits`, { users: '1000' });
    await replay(`${org}/login`, { mailCode: 'all' });
    for (const owner of [org, '/console/system']) {
      await replay(`${owner}/branding`, { name: 'Form' });
      await replay(`${owner}/providers/new?type=github`, { clientId: 'client-1', aliases: '' });
      const { text } = await person.get(`${owner}/providers`);
      const [, provider = ''] = /href="([^"]*\/providers\/[^"/]+)\/remove"/.exec(text) ?? [];
      await replay(provider, { name: 'The hub' });
      await replay(`${provider}/remove`);
    }
    await replay('/console/system/login', { mailCode: 'all' });
    const other = await api.setupOrg();
    for (const change of ['deactivate', 'reactivate', 'delete', 'undelete']) {
      await replay(`/console/organizations/${other.orgId}/${change}`, { orgId: other.orgId });
    }
    await replay('/console/system/administrators', { userId: member });
    await replay(`/console/system/administrators/${member}/remove`);
  });

  it('of an import that runs', async () => {
    const { importId } = (await api.call('POST', '/admin/v1/import', bulk(own.orgId, [entry('slow')]))).body;
    for (const action of ['pause', 'resume', 'cancel', 'resume', 'cancel']) {
      await replay(`/console/imports/${importId}/${action}`);
    }
    // The workers of the next tests must not wait for it.
    await api.call('POST', `/admin/v1/imports/${importId}/_cancel`);
  });

  it('of a new import, from its files to its start', async () => {
    workers = [startConverter(api.deps), startImportWorker(api.deps), startDispatcher(api.deps), startUndoer(api.deps)];
    const draft = await newDraft(api);
    await uploadFile(api, draft, PEOPLE);
    const steps = `/console/imports/new/${draft}`;
    const query = `?source=csv&org=${own.orgId}`;
    await replay(`${steps}/source`, { source: 'csv' });
    await replay(`${steps}/columns${query}`);
    await replay(`${steps}/options${query}`, { org: own.orgId });
    // The first part reads the files, the second one checks the users.
    await replay(`${steps}/check${query}`);
    await replay(`${steps}/check`);
    const { text } = await person.get(`/console/imports/${draft}/fix`);
    const [, cause = ''] = /\/fix\/([0-9a-f]{8})"/.exec(text) ?? [];
    await replay(`/console/imports/${draft}/fix/${cause}`, { v2: 'cyd' });
    await replay(`/console/imports/${draft}/fix/${cause}/leave-out`);
    // The first part checks again, as users were corrected, the second one starts.
    await replay(`${steps}/decide`, { triedName: 'bob@form.example', triedPassword: 'a password' });
    await replay(`${steps}/decide`);
    const started = await api.call('GET', `/admin/v1/imports/${draft}`);
    assert.equal(started.body.draft, undefined, 'the import has started');
    const discarded = await newDraft(api);
    await replay(`/console/imports/new/${discarded}/discard`);
  });

  it('of an import that has ended', async () => {
    const users = [
      entry('new', { email: { email: 'new@form.example' } }),
      // The name is taken, so that the user is sent again.
      entry('second', { userName: 'member' }),
    ];
    const { importId } = (await api.call('POST', '/admin/v1/import?mails=none', bulk(own.orgId, users))).body;
    await done();
    await replay(`/console/imports/${importId}/send_mails`);
    await replay(`/console/imports/${importId}/sign_in_mails`);
    await replay(`/console/imports/${importId}/retry`, { timeout: '30m' });
    await replay(`/console/imports/${importId}/undo`, { number: importId });
  });

  it('of each remedy for failed users', async () => {
    const user = (name: string, more: object = {}) =>
      entry(name, { email: { email: `${name}@form.example` }, ...more });
    const users = [
      user('r-first'),
      user('r-brackets', { email: { email: ' <r-brackets@form.example> ' } }),
      user('r-nowhere', { email: undefined }),
      user('r-hash', { hashedPassword: { value: `$2e$10$${'x'.repeat(53)}` } }),
      user('r-long', { profile: { firstName: 'Long'.repeat(60), lastName: 'Form' } }),
      user('r-first'),
      user('r-named', { userName: 'r-first' }),
    ];
    const seen = new Set<string>();
    for (const remedy of REMEDIES) {
      const { importId } = (await api.call('POST', '/admin/v1/import?mails=none', bulk(own.orgId, users))).body;
      await done();
      const { causes } = (await api.call('GET', `/admin/v1/imports/${importId}/causes`)).body;
      const helped = causes.find(({ remedies }: { remedies: string[] }) => remedies.includes(remedy));
      if (helped) {
        const domain = remedy === 'user-name-as-email' ? '?domain=made.example' : '';
        await replay(`/console/imports/${importId}/fix/${helped.cause}/${remedy}${domain}`);
        assert(
          [...sent].some((path) => path.endsWith(`/${helped.cause}/${remedy}`)),
          `${remedy} was sent`,
        );
        seen.add(remedy);
      }
      await api.call('POST', `/admin/v1/imports/${importId}/_undo`);
      await done();
    }
    assert.deepEqual(
      [...REMEDIES].filter((remedy) => !seen.has(remedy)),
      [],
    );
  });

  it('of what is gone meanwhile says so, and does nothing', async () => {
    const human = async (name: string) => {
      const profile = { givenName: name, familyName: 'Gone' };
      const body = {
        username: name,
        profile,
        email: { email: `${name}@gone.example` },
        organization: { orgId: own.orgId },
      };
      return (await api.call('POST', '/v2beta/users/human', body)).body.userId as string;
    };
    const [userId, member] = [await human('gone-user'), await human('gone-member')];
    const machine = (await api.machine(own.orgId)).userId;
    const client = (await api.call('POST', '/admin/v1/clients', GONE_CLIENT)).body.clientId as string;
    const { orgId } = await api.setupOrg();
    const draft = await newDraft(api);
    await uploadFile(api, draft, PEOPLE);
    const { importId } = (await api.call('POST', '/admin/v1/import', bulk(own.orgId, [entry('gone-import')]))).body;
    await done();
    const pages = [
      ...['resend', 'reset', 'lock', 'deactivate', 'delete', 'reset-factors'].map(
        (one) => `/console/users/${userId}/${one}`,
      ),
      ...['tokens', 'keys'].map((one) => `/console/users/${machine}/${one}`),
      ...['claims', 'remove'].map((one) => `/console/clients/${client}/${one}`),
      ...[
        '',
        '/limits',
        '/login',
        '/branding',
        '/machines/new',
        '/providers/new?type=github',
        '/deactivate',
        '/delete',
      ].map((one) => `/console/organizations/${orgId}${one}`),
      `/console/organizations/${own.orgId}`,
      '/console/system/administrators',
      ...[...STEP_NAMES, 'discard'].map((one) => `/console/imports/new/${draft}/${one}?source=csv&org=${own.orgId}`),
      ...ACTIONS.map((one) => `/console/imports/${importId}/${one}`),
    ];
    const tabs: Form[] = [];
    for (const path of pages) tabs.push(...(await formsOf(path)));
    assert(tabs.length > 20, `${tabs.length} forms`);
    for (const gone of [userId, member, machine]) {
      assert.equal((await api.call('DELETE', `/v2beta/users/${gone}`)).status, 200);
    }
    assert.equal((await api.call('DELETE', `/admin/v1/clients/${client}`)).status, 200);
    assert.equal((await api.call('DELETE', '/management/v1/orgs/me', undefined, { orgId })).status, 200);
    assert.equal((await api.call('POST', `/admin/v1/imports/${draft}/_discard`)).status, 200);
    assert.equal((await api.call('POST', `/admin/v1/imports/${importId}/_undo`)).status, 200);
    const press = async (tab: Form) => {
      const { status, text } = await send(tab, {
        userId: member,
        userName: 'gone-user',
        name: 'Gone',
        number: importId,
      });
      assert(status < 500, `${tab.button} (${tab.action}) answers ${status}: ${problemIn(text)}`);
    };
    // A deleted organization can be restored; its pages say so, and refuse other changes.
    const [ofOrg, others] = [tabs.filter(isOf(orgId)), tabs.filter((tab) => !isOf(orgId)(tab))];
    assert(ofOrg.length > 4 && others.length > 15, `${ofOrg.length} and ${others.length} forms`);
    const before = await done();
    for (const tab of others) await press(tab);
    assert.equal(await done(), before, 'nothing was done');
    for (const tab of ofOrg) await press(tab);
  });

  it('is found for every address that takes one', () => {
    const addresses = mountedRoutes(buildApp(api.deps).router)
      .filter((route) => route.startsWith('POST /console') && !OPEN.test(route.slice('POST '.length)))
      .flatMap((route) => filled(route.slice('POST '.length)));
    assert(addresses.length > 30, `${addresses.length} addresses`);
    const patterns = addresses.map(
      (address) => [address, new RegExp(`^${address.replace(/:\w+/g, '[^/]+')}$`)] as const,
    );
    const missing = patterns.filter(([, pattern]) => ![...sent].some((path) => pattern.test(path)));
    assert.deepEqual(
      missing.map(([address]) => address),
      [],
    );
  });
});

const isOf = (id: string) => (form: Form) => form.action.includes(id);

const GONE_CLIENT = {
  name: 'Gone',
  authMethod: 'none',
  grantTypes: ['authorization_code'],
  redirectUris: ['https://gone.example/callback'],
};
const PEOPLE = `id,email,firstname,lastname
1,ann@form.example,Ann,Form
2,bob@form.example,Bob,Form
3,no address,Cyd,Form
`;

/** The address of a route, once for each value of a parameter that has some. */
function filled(path: string): string[] {
  const [name] = Object.keys(VALUES).filter((one) => path.includes(`:${one}`));
  return name === undefined ? [path] : (VALUES[name] ?? []).flatMap((value) => filled(path.replace(`:${name}`, value)));
}

/** What a page says is wrong. */
function problemIn(page: string): string {
  const [, problem = ''] =
    /class="notice bad"[^>]*>(.*?)<\/p>/s.exec(page) ?? /<main[^>]*>(.*?)<\/main>/s.exec(page) ?? [];
  return problem
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .slice(0, 300);
}

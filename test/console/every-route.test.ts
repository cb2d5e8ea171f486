/** What holds for every route of the console, read from the router: a new route is tested as soon as it is mounted. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { STEP_NAMES } from '../../src/console/new-import/frame.ts';
import { buildApp } from '../../src/start/app.ts';
import { mountedRoutes } from '../roles/mounted.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { entry, HASH } from '../support/imports/imports.ts';
import { type Visitor, visitor } from './visitor.ts';

/** What each parameter of a route is filled with; a parameter with several values is a route for each. */
type Things = Record<string, readonly string[]>;

const PLANTED = '$2e$10$plantedplantedplantedplanted';
/** Routes for people who are not signed in, and the address of the account before it moved, which leads to `/account`. */
const OPEN = /^\/console\/(?:sign-in|callback|signed-out|sign-out|assets|account)\b/;
const FIXED: Things = {
  action: ['pause', 'resume', 'retry', 'send_mails', 'cancel', 'undo'],
  remedy: ['drop-hash', 'leave-out'],
  name: ['mail-00000001.eml'],
  step: STEP_NAMES,
  kind: ['initialisation'],
  language: ['en'],
  credentialId: ['1'],
  source: ['auth0', 'csv'],
};
/** Guides are the same for everybody. */
const SAME_FOR_ALL = '/console/guides/';

describe('every route of the console', () => {
  let api: TestApi;
  let owner: Visitor;
  let admin: Visitor;
  let ours: Things;
  let theirs: Things;
  let foreign: SetUp;
  /** `GET /console/imports/:importId` */
  let routes: string[];

  before(async () => {
    api = await startApi({ env: { SMTP_URL: 'smtp://127.0.0.1:9' } });
    routes = mountedRoutes(buildApp(api.deps).router).filter((route) => {
      const path = route.split(' ')[1] as string;
      return path.startsWith('/console') && !OPEN.test(path);
    });
    const own = await api.setupOrg();
    foreign = await api.setupOrg({
      org: { name: 'Foreign Ltd' },
      human: { userName: 'otto-foreign', profile: { firstName: 'Otto', lastName: 'Foreign' } },
    });
    ours = await thingsOf(own.orgId);
    theirs = await thingsOf(foreign.orgId);
    owner = await visitor(api, (await api.machine(own.orgId, ['ORG_OWNER'])).token);
    admin = await visitor(api, api.token);
  });
  after(() => api.stop());

  /** An import with a planted hash that failed and one that did not, a draft of the same users, users, a client, a provider. */
  async function thingsOf(orgId: string): Promise<Things> {
    const users = [
      entry(`good-${orgId}`, { email: { email: `good@${orgId}.example`, isEmailVerified: true } }),
      entry(`bad-${orgId}`, {
        email: { email: `bad@${orgId}.example`, isEmailVerified: true },
        hashedPassword: { value: PLANTED },
      }),
      entry(`worse-${orgId}`, { email: { email: `no address of ${orgId}` } }),
    ];
    const { body } = await api.call('POST', '/admin/v1/import', bulk(orgId, users));
    const { causes } = (await api.call('GET', `/admin/v1/imports/${body.importId}/causes`)).body;
    const draft = (await api.call('POST', '/admin/v1/import?draft=true', bulk(orgId, users))).body;
    const made = await api.call('POST', '/admin/v1/clients', {
      name: `Client of ${orgId}`,
      grantTypes: ['client_credentials'],
      authMethod: 'client_secret_basic',
    });
    const human = { username: `human-${orgId}`, profile: { givenName: 'H', familyName: orgId } };
    const email = { email: `human@${orgId}.example`, isVerified: true };
    const hashedPassword = { hash: HASH };
    const person = { ...human, email, hashedPassword, organization: { orgId } };
    const user = (await api.call('POST', '/v2beta/users/human', person)).body.userId;
    const machine = (await api.machine(orgId)).userId;
    const google = { type: 'google', clientId: `client of ${orgId}` };
    const idp = (await api.call('POST', '/management/v1/idps', google, { orgId })).body;
    assert(body.importId && draft.importId && causes.length === 2 && made.body.clientId && user);
    return {
      ...FIXED,
      importId: [body.importId, draft.importId],
      cause: causes.map(({ cause }: { cause: string }) => cause),
      orgId: [orgId],
      userId: [user, machine],
      clientId: [made.body.clientId],
      idpId: [idp.idpId],
    };
  }

  /** The addresses of a route with all values of its parameters. */
  function filled(path: string, things: Things): string[] {
    const [, name] = /:(\w+)/.exec(path) ?? [];
    if (!name) return [path];
    assert(things[name], `the parameter ${name} of ${path} is new: add what it is to this test`);
    return things[name].flatMap((value) => filled(path.replace(`:${name}`, encodeURIComponent(value)), things));
  }

  function* requests(things: Things): Generator<{ method: string; path: string; isOfThing: boolean }> {
    for (const route of routes) {
      const [method = '', pattern = ''] = route.split(' ');
      if (method !== 'GET' && method !== 'POST') continue;
      for (const path of filled(pattern, things)) {
        const isOfThing = path !== pattern && !path.startsWith(SAME_FOR_ALL);
        yield { method, path, isOfThing };
      }
    }
  }

  const send = (who: Visitor, { method, path }: { method: string; path: string }, cookie?: string) =>
    method === 'GET' ? who.get(path, cookie) : who.post(path, {}, cookie);

  it('needs a session', async () => {
    assert(routes.length > 40, `${routes.length} routes`);
    for (const request of requests(theirs)) {
      const { status, headers } = await send(owner, request, 'muster_console=none');
      const where = `${request.method} ${request.path}`;
      if (request.method === 'POST') assert.equal(status, 401, where);
      else assert.match(headers.get('location') ?? `${status}`, /\/console\/sign-in\?to=/, where);
    }
  });

  it('shows an ORG_OWNER nothing of another organization', async () => {
    const secrets = ['Foreign Ltd', 'otto-foreign', 'Otto', `@${foreign.orgId}.example`, `-${foreign.orgId}`, PLANTED];
    const lists = ['/imports', '/imports/live', '/users', '/organizations'].flatMap((list) =>
      [`orgId=${foreign.orgId}`, `org=${foreign.orgId}`, 'q=otto-foreign', `query=good`].map((query) => ({
        ...{ method: 'GET', path: `/console${list}?${query}`, isOfThing: false },
      })),
    );
    let refused = 0;
    for (const request of [...requests(theirs), ...lists]) {
      const where = `${request.method} ${request.path}`;
      const { status, text } = await send(owner, request);
      if (request.isOfThing) assert(status === 403 || status === 404, `${where} answers ${status}`);
      else assert(status < 404, `${where} answers ${status}`);
      refused += status === 403 ? 1 : 0;
      const typed = decodeURIComponent(request.path);
      for (const secret of secrets)
        assert(typed.includes(secret) || !text.includes(secret), `${where} shows ${secret}`);
    }
    assert(refused > 40, `${refused} refused`);
    const untouched = await api.call('GET', `/admin/v1/imports/${theirs.importId?.[0]}`);
    assert.equal(untouched.body.state, 'IMPORT_STATE_RUNNING');
  });

  it('never answers with a hash, and has no mailbox where mails go to a server', async () => {
    const id = ours.importId?.[0];
    const ofApi = [
      '',
      '/items',
      '/items/0',
      '/items/1',
      '/causes',
      '/rates',
      '/report?format=csv',
      '/report?format=ndjson',
    ];
    const pages = [...requests(ours)].filter(({ method }) => method === 'GET');
    const all = [
      ...pages.map(({ path }) => path),
      ...ofApi.map((path) => `/console/api/admin/v1/imports/${id}${path}`),
    ];
    let shown = 0;
    for (const path of all) {
      for (const who of [owner, admin]) {
        const { status, text } = await who.get(path);
        assert(!text.includes(PLANTED.slice(4)) && !text.includes(HASH.slice(4)), `${path} shows a hash`);
        shown += status === 200 ? 1 : 0;
        if (path.startsWith('/console/mailbox')) assert.equal(status, 403, path);
        // What the owner sees is the same for the administrator.
        if (status !== 403) break;
      }
    }
    assert(shown > 40, `${shown} pages shown`);
    const [one] = ours.cause ?? [];
    for (const cause of ours.cause ?? []) {
      const saved = await owner.post(`/console/imports/${id}/fix/${cause}`, { v1: 'x', v2: 'still wrong' });
      assert(!saved.text.includes(PLANTED.slice(4)), `${cause} of ${one}`);
    }
  });
});

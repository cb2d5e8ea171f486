/** Identity providers as they are added, changed and removed: what is shown, refused and kept. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { IDP_TYPES, PRESETS, presetOfAlias } from '../../../src/contract/idp-presets.ts';
import { callbackPathProblem } from '../../../src/contract/idps.ts';
import { findIdp, type Idp, idpsFor, MOST_IDPS, secretsOf } from '../../../src/signin/providers/store.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';

const OF_ORG = '/management/v1/idps';
const OF_INSTANCE = '/admin/v1/idps';

describe('identity providers', () => {
  let api: TestApi;
  let org: SetUp;
  before(async () => {
    api = await startApi();
    org = await api.setupOrg();
  });
  after(() => api.stop());

  const add = (body: object, path = OF_ORG) => api.call('POST', path, body, { orgId: org.orgId });
  const google = (more: object = {}) => ({ type: 'google', clientId: 'client-1', clientSecret: 'not shown', ...more });
  const secretsAt = async (id: string) => secretsOf(api.deps.secrets, (await findIdp(api.deps.pool, id)) as Idp);

  async function added(body: object, path = OF_ORG): Promise<string> {
    const answer = await add(body, path);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.idpId;
  }

  async function shown(id: string, path = OF_ORG) {
    const { status, body } = await api.call('GET', `${path}/${id}`);
    assert.equal(status, 200, JSON.stringify(body));
    const { details: _, ...idp } = body.idp;
    return idp;
  }

  for (const path of [OF_ORG, OF_INSTANCE]) {
    it(`take what their preset says, and show no secret: ${path}`, async () => {
      const id = await added(google({ callbackPaths: ['/login/callback'] }), path);
      assert.deepEqual(await shown(id, path), {
        idpId: id,
        id,
        type: 'google',
        name: 'Google',
        issuer: 'https://accounts.google.com',
        clientId: 'client-1',
        hasSecret: true,
        redirectUri: `${new URL(api.deps.config.baseUrl).origin}/login/callback`,
        scopes: ['openid', 'profile', 'email'],
        aliases: PRESETS.google.aliases,
        subject: 'sub',
        callbackPaths: ['/login/callback'],
        domains: [],
        tenants: [],
        trustsAddresses: false,
        createDomains: [],
        isEnabled: true,
      });
      assert.deepEqual(await secretsAt(id), { clientSecret: 'not shown' });
      const list = await api.call('GET', path, undefined, { orgId: org.orgId });
      assert.equal(list.body.result[0].idpId, id);
      assert.doesNotMatch(JSON.stringify(list.body), /not shown/);
      const { rows } = await api.deps.pool.query('select * from idps union all select i.* from idps i');
      assert.doesNotMatch(JSON.stringify(rows), /not shown/);
      assert.equal((await api.call('DELETE', `${path}/${id}`)).status, 200);
      assert.equal(errorId(await api.call('GET', `${path}/${id}`)), 'IDP-NOT-FOUND');
      const owner = path === OF_ORG ? org.orgId : 'instance';
      const events = await api.deps.pool.query(
        `select type from events where resource_owner = $1 and payload ->> 'idpId' = $2 order by sequence`,
        [owner, id],
      );
      const kind = path === OF_ORG ? 'organization' : 'instance';
      assert.deepEqual(
        events.rows.map(({ type }) => type),
        [`${kind}.idp.added`, `${kind}.idp.removed`],
      );
    });
  }

  it('of an organization and of the instance are not found among each other', async () => {
    const own = await added(google());
    const shared = await added(google(), OF_INSTANCE);
    for (const path of [`${OF_INSTANCE}/${own}`, `${OF_ORG}/${shared}`]) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await api.call(method, path, method === 'PATCH' ? { name: 'x' } : undefined);
        assert.deepEqual([answer.status, errorId(answer)], [404, 'IDP-NOT-FOUND'], `${method} ${path}`);
      }
    }
    const { pool } = api.deps;
    assert.deepEqual(
      (await idpsFor(pool, org.orgId)).map(({ id }) => id),
      [own],
      'links named google are of the first',
    );
    assert.deepEqual(
      (await idpsFor(pool, undefined)).map(({ id }) => id),
      [shared],
    );
    await api.call('PATCH', `${OF_INSTANCE}/${shared}`, { isEnabled: false });
    assert.deepEqual(await idpsFor(pool, undefined), []);
    await api.call('DELETE', `${OF_ORG}/${own}`);
    await api.call('DELETE', `${OF_INSTANCE}/${shared}`);
  });

  it('of every type are added with what the type needs', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const urls = {
      authorization: 'https://a.example/a',
      token: 'https://a.example/t',
      userInfo: 'https://a.example/u',
    };
    const needs: Record<string, object> = {
      apple: { clientSecret: undefined, privateKey: pem, apple: { teamId: 'TEAM', keyId: 'KEY' } },
      oauth: { endpoints: urls },
    };
    for (const type of ['auth0', 'keycloak', 'zitadel', 'oidc']) needs[type] = { issuer: 'https://sso.acme.example' };
    for (const type of IDP_TYPES) {
      const id = await added({ type, clientId: 'c', clientSecret: 's', ...needs[type] });
      assert.equal((await shown(id)).type, type);
      const bare = await add({ type, clientId: 'c', aliases: [] });
      const missing = { apple: ['apple', 'privateKey'], oauth: ['endpoints'] } as Record<string, string[]>;
      const fields = missing[type] ?? (needs[type] ? ['issuer'] : []);
      assert.deepEqual(bare.status === 200 ? [] : badFieldsOf(bare).sort(), fields, type);
      if (bare.status === 200) await api.call('DELETE', `${OF_ORG}/${bare.body.idpId}`);
      await api.call('DELETE', `${OF_ORG}/${id}`);
    }
  });

  it('are refused with every invalid field', async () => {
    const cases: [object, string[]][] = [
      [{ type: 'saml', clientId: '', scopes: ['a b'] }, ['type', 'clientId', 'scopes[0]']],
      [google({ issuer: 'http://a.example' }), ['issuer']],
      [google({ issuer: 'https://10.0.0.1' }), ['issuer']],
      [google({ issuer: 'https://localhost/' }), ['issuer']],
      [google({ issuer: 'https://a.example?x=1' }), ['issuer']],
      [
        google({ endpoints: { authorization: 'https://a.example', token: 'x', userInfo: 'https://a.example' } }),
        ['endpoints.token'],
      ],
      [google({ tenants: ['0f8fad5b-d9cb-469f-a165-70867728950e'] }), ['tenants']],
      [google({ privateKey: 'x' }), ['privateKey']],
      [
        google({ callbackPaths: ['/ui/login', 'login', '/a?b', '/admin/v1/idps'] }),
        [0, 1, 2, 3].map((i) => `callbackPaths[${i}]`),
      ],
      [{ type: 'microsoft', clientId: 'c', tenants: ['common'], trustsAddresses: true }, ['tenants[0]']],
      [{ type: 'microsoft', clientId: 'c', trustsAddresses: true }, ['trustsAddresses']],
      [{ type: 'github', clientId: 'c', issuer: 'https://a.example' }, ['issuer']],
      [
        {
          type: 'oauth',
          clientId: 'c',
          endpoints: { authorization: 'https://a.example', token: 'http://a.example', userInfo: 'https://127.0.0.1' },
        },
        ['endpoints.token', 'endpoints.userInfo'],
      ],
    ];
    for (const [body, fields] of cases) {
      const answer = await add(body);
      assert.deepEqual([answer.status, errorId(answer)], [400, 'IDP-INVALID'], JSON.stringify(body));
      assert.deepEqual(badFieldsOf(answer).sort(), [...fields].sort(), JSON.stringify(answer.body));
    }
  });

  it('share no alias within an owner; a preset leaves out what another one has', async () => {
    const first = await added(google({ aliases: ['Google-OAuth2', 'google-oauth2', 'acme'] }));
    assert.deepEqual((await shown(first)).aliases, ['Google-OAuth2', 'acme']);
    const taken = await add({ ...google(), aliases: ['ACME'] });
    assert.deepEqual([taken.status, errorId(taken)], [409, 'IDP-ALIAS-TAKEN']);
    assert.match(taken.body.message, /ACME is that of the provider Google \(/);
    assert.equal((await add({ ...google(), aliases: [first] })).status, 409, 'an id is a name too');
    const second = await added(google({ name: 'Google for guests' }));
    assert.ok(!(await shown(second)).aliases.includes('google-oauth2'));
    const change = (aliases: string[]) => api.call('PATCH', `${OF_ORG}/${second}`, { aliases });
    assert.equal(errorId(await change(['x', 'acme'])), 'IDP-ALIAS-TAKEN');
    assert.equal((await change(['x'])).status, 200);
    const other = (await api.setupOrg()).orgId;
    assert.equal((await api.call('POST', OF_ORG, { ...google(), aliases: ['acme'] }, { orgId: other })).status, 200);
    for (const id of [first, second]) await api.call('DELETE', `${OF_ORG}/${id}`);
  });

  it('keep what a change leaves out, and a secret unless the address changes', async () => {
    const id = await added(google({ linking: 'confirm', fields: { name: 'nick' } }));
    const change = (body: object) => api.call('PATCH', `${OF_ORG}/${id}`, body);
    const before = await shown(id);
    assert.equal((await change({ name: 'Work', domains: ['Acme.Example'], fields: { email: 'mail' } })).status, 200);
    const after = { ...before, name: 'Work', domains: ['acme.example'], fields: { name: 'nick', email: 'mail' } };
    assert.deepEqual(await shown(id), after);
    assert.equal((await change({ linking: 'policy' })).status, 200);
    assert.equal((await shown(id)).linking, undefined);
    assert.deepEqual(await secretsAt(id), { clientSecret: 'not shown' });
    const moved = await change({ issuer: 'https://evil.example' });
    assert.deepEqual([errorId(moved), badFieldsOf(moved)], ['IDP-INVALID', ['clientSecret']]);
    assert.equal((await change({ issuer: 'https://new.example', client_secret: 'second' })).status, 200);
    assert.deepEqual(await secretsAt(id), { clientSecret: 'second' });
    assert.deepEqual(badFieldsOf(await change({ type: 'apple' })), ['type']);
    const { rows } = await api.deps.pool.query(
      `select payload -> 'fields' as fields from events where type = 'organization.idp.changed'
         and payload ->> 'idpId' = $1 order by sequence`,
      [id],
    );
    assert.deepEqual(
      rows.map(({ fields }) => fields),
      [['domains', 'fields', 'name'], ['linking'], ['clientSecret', 'issuer']],
    );
    await api.call('DELETE', `${OF_ORG}/${id}`);

    const hub = await added({ type: 'github', clientId: 'c', clientSecret: 's' });
    const { endpoints } = PRESETS.github;
    const to = (url: string) => api.call('PATCH', `${OF_ORG}/${hub}`, { endpoints: { ...endpoints, userInfo: url } });
    assert.deepEqual(badFieldsOf(await to('https://evil.example')), ['clientSecret']);
    assert.equal((await to(endpoints?.userInfo ?? '')).status, 200);
    await api.call('DELETE', `${OF_ORG}/${hub}`);
  });

  it('are as many as a page of buttons can hold', async () => {
    const { orgId } = await api.setupOrg();
    const one = () => api.call('POST', OF_ORG, { type: 'google', clientId: 'c' }, { orgId });
    for (let i = 0; i < MOST_IDPS; i++) assert.equal((await one()).status, 200);
    assert.deepEqual([(await one()).status, errorId(await one())], [400, 'IDPS-FULL']);
    const ofInstance = (aliases: string[]) => api.call('POST', OF_INSTANCE, { ...google(), aliases });
    const [first, second] = [await ofInstance(['a']), await ofInstance(['b'])];
    const taken = await api.call('PATCH', `${OF_INSTANCE}/${second.body.idpId}`, { aliases: ['A'] });
    assert.deepEqual([first.status, taken.status, errorId(taken)], [200, 409, 'IDP-ALIAS-TAKEN']);
    for (let i = 2; i < MOST_IDPS; i++) assert.equal((await ofInstance([])).status, 200);
    assert.equal(errorId(await ofInstance([])), 'IDPS-FULL');
    const { rows } = await api.deps.pool.query('select id from idps where org_id is null');
    for (const { id } of rows) assert.equal((await api.call('DELETE', `${OF_INSTANCE}/${id}`)).status, 200);
  });
});

describe('the paths of old systems', () => {
  it('are none of our own', () => {
    for (const path of [
      ...['/login/callback', '/realms/R/broker/A/endpoint', '/auth/v1/callback', '/oauth2/idpresponse'],
      ...[
        '/__/auth/handler',
        '/ui/login/login/externalidp/callback',
        '/api/auth/callback/google',
        '/v1/oauth_callback',
      ],
      ...['/source/oauth/callback/google/', '/complete/google-oauth2/', '/callback/google1', '/idps/callback'],
      '/self-service/methods/oidc/callback/google',
    ]) {
      assert.equal(callbackPathProblem(path), undefined, path);
    }
    for (const path of [
      ...['/', '//a', 'a', '/a?b', '/a#b', '/a/../b', '/a//', '/UI/login', '/ui', '/Console/x', '/oauth/v2/token'],
      ...['/auth/v1/users/me', '/v2beta/users/1', '/admin/v1/idps', '/zitadel.user.v2.UserService/X', '/healthz'],
      ...['/.well-known/x', '/docs', '/management/v1/me', '/v2/users', '/a%2', '/a b', '/ui/', '/healthz/'],
      '/auth/v1/users/me/',
    ]) {
      assert.notEqual(callbackPathProblem(path), undefined, path);
    }
  });
});

describe('presets', () => {
  it('know the names of their providers in exports, each in one preset', () => {
    const names = IDP_TYPES.flatMap((type) => PRESETS[type].aliases.map((alias) => alias.toLowerCase()));
    assert.deepEqual(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    );
    for (const [name, type] of Object.entries({
      'google-oauth2': 'google',
      'google.com': 'google',
      oauth_google: 'google',
      Google: 'google',
      windowslive: 'microsoft',
      waad: 'microsoft',
      'microsoft.com': 'microsoft',
      oauth_microsoft: 'microsoft',
      SignInWithApple: 'apple',
      'apple.com': 'apple',
      GitHub: 'github',
    })) {
      assert.equal(presetOfAlias(name), type, name);
    }
    assert.equal(presetOfAlias('acme-oidc'), undefined);
  });
});

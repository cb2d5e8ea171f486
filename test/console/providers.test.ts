/** Identity providers in the console: of an organization for its owners, of the service for administrators. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findIdp, type Idp, secretsOf } from '../../src/signin/providers/store.ts';
import { must } from '../support/calls.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

const OF_ORG = '/management/v1/idps';

describe('the providers of an organization', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
    await makeIamOwner(world.api, world.other);
  });
  after(() => world.stop());

  const ofOrg = async () => {
    const { orgId } = world.org;
    return (await must(world.api.call('GET', OF_ORG, undefined, { orgId }))).body.result;
  };
  const secretOf = async (id: string) => {
    const { pool, secrets } = world.api.deps;
    return secretsOf(secrets, (await findIdp(pool, id)) as Idp).clientSecret;
  };

  it('are added by their type, changed and removed, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    const page = await world.enter(t, `/console/organizations/${orgId}`, undefined, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Sign-in providers' }).click();
    await page.getByText('No providers yet').waitFor();
    await page.getByRole('link', { name: 'Add a provider' }).click();
    await page.getByRole('link', { name: 'Google', exact: true }).click();
    assert.match(await page.getByLabel('Names in exports').inputValue(), /google-oauth2/);
    await page.getByLabel('Client id').fill('client-1');
    await page.getByLabel('Client secret').fill('not shown');
    await page.getByLabel('Paths of the old system').fill('login/callback');
    await page.getByRole('button', { name: 'Add a provider' }).click();
    await page.getByText('must be a path such as /login/callback').waitFor();
    assert.equal(await page.getByLabel('Client id').inputValue(), 'client-1');
    await page.getByLabel('Client secret').fill('not shown');
    await page.getByLabel('Paths of the old system').fill('/login/callback\n/auth/v1/callback');
    await page.getByRole('button', { name: 'Add a provider' }).click();
    await page.getByText('The provider is added.').waitFor();
    await page.getByText(`${world.api.url}/login/callback`).waitFor();
    const [added] = await ofOrg();
    assert.deepEqual([added.type, added.clientId, added.callbackPaths.length], ['google', 'client-1', 2]);
    assert.equal(await secretOf(added.idpId), 'not shown');
    assert.ok(!(await page.content()).includes('not shown'));

    await page.getByLabel('Name', { exact: true }).fill('Google for staff');
    await page.getByLabel('The person signs in once in another way').check();
    await page.getByLabel('Users can sign in by this provider').uncheck();
    await page.getByLabel('Domains', { exact: true }).fill('acme.example');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The provider is changed.').waitFor();
    const [changed] = await ofOrg();
    const { name, linking, isEnabled, domains, aliases } = changed;
    assert.deepEqual(
      { name, linking, isEnabled, domains },
      {
        name: 'Google for staff',
        linking: 'confirm',
        isEnabled: false,
        domains: ['acme.example'],
      },
    );
    assert.deepEqual(aliases, added.aliases);
    assert.equal(await secretOf(added.idpId), 'not shown', 'an empty field keeps it');
    await page.getByLabel('Issuer').fill('https://evil.example');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is required, as the address changes').waitFor();

    await page.getByRole('link', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The provider is removed.').waitFor();
    assert.deepEqual(await ofOrg(), []);
  });

  it('of the service are for administrators, and of every kind', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/system', world.other, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Sign-in providers' }).click();
    await page.goto(`${world.api.url}/console/system/providers/new?type=oauth&alias=old-hub`);
    assert.equal(await page.getByLabel('Names in exports').inputValue(), 'old-hub');
    await page.getByLabel('Client id').fill('c');
    for (const what of ['authorization', 'token', 'user info']) {
      await page.getByLabel(`Address of the ${what}`).fill('https://hub.example/a');
    }
    await page.getByRole('button', { name: 'Add a provider' }).click();
    await page.getByText('The provider is added.').waitFor();
    const { body } = await must(world.api.call('GET', '/admin/v1/idps'));
    const [idp] = body.result;
    assert.deepEqual([idp.name, idp.aliases, idp.endpoints.token], ['old-hub', ['old-hub'], 'https://hub.example/a']);

    for (const type of ['apple', 'microsoft', 'github', 'keycloak']) {
      await page.goto(`${world.api.url}/console/system/providers/new?type=${type}`);
      await page.getByLabel('Client id').fill('c');
      await page.getByRole('button', { name: 'Add a provider' }).waitFor();
    }
    const owner = await world.enter(t, `/console/organizations/${world.org.orgId}`);
    for (const path of [
      '/console/system/providers',
      `/console/system/providers/${idp.idpId}`,
      '/console/system/login',
    ]) {
      assert.equal((await owner.request.get(world.api.url + path)).status(), 403, path);
    }
    const ofOther = `/console/organizations/${world.org.orgId}/providers/${idp.idpId}`;
    assert.equal((await owner.request.get(world.api.url + ofOther)).status(), 403);
  });

  it('have pages that everybody can use', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    const google = { type: 'google', clientId: 'client-1', callbackPaths: ['/login/callback'] };
    const { body } = await must(world.api.call('POST', OF_ORG, google, { orgId }));
    const issuer = `update idps set settings = settings || '{"issuer": "https://127.0.0.1"}'`;
    await world.api.deps.pool.query(issuer);
    const page = await world.enter(t, `/console/organizations/${orgId}/providers`);
    const found = await findingsOf(page, 'providers');
    for (const [path, name] of [
      ['new', 'providers-types'],
      ['new?type=microsoft', 'providers-new'],
      [body.idpId, 'provider'],
      [`${body.idpId}/check`, 'provider-check'],
      [`${body.idpId}/remove`, 'provider-remove'],
    ] as const) {
      await page.goto(`${world.api.url}/console/organizations/${orgId}/providers/${path}`);
      found.push(...(await findingsOf(page, name)));
    }
    assert.deepEqual(found, []);
  });
});

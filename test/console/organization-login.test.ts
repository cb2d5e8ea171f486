/** How the users of an organization sign in, in the console: shown to its managers, set by its owners. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { must } from '../support/calls.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

const POLICY = '/management/v1/policies/login';

describe('the login policy of an organization', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  const policy = async (orgId: string) => {
    const { details: _, ...fields } = (await must(world.api.call('GET', POLICY, undefined, { orgId }))).body.policy;
    return fields;
  };
  const USUAL = {
    forceMfa: false,
    mailCode: 'withoutPassword',
    smsCode: 'off',
    initMail: 'always',
    linking: 'refuse',
    passkeys: true,
    deleteAccount: false,
    isDefault: true,
  };

  it('is shown in words, set by an owner, and given back, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    const page = await world.enter(t, `/console/organizations/${orgId}`, undefined, { javaScriptEnabled: false });
    await page.getByText('Users without a password sign in with a code.').waitFor();
    await page.getByText('This is the policy of the service').waitFor();
    await page.getByRole('link', { name: 'Change how users sign in' }).click();
    assert.equal(await page.getByRole('button', { name: 'Take the policy of the service' }).count(), 0);
    await page.getByLabel('Everybody with a verified address').check();
    await page.getByLabel('Only users who cannot sign in').check();
    await page.getByLabel('The person signs in once in another way').check();
    await page.getByLabel('Users without a password sign in with their number').check();
    await page.getByLabel('Nobody signs in with a passkey').check();
    await page.getByLabel('Users may delete their own account').check();
    await page.getByRole('button', { name: 'Set how users sign in' }).click();
    await page.getByText('How users sign in is set.').waitFor();
    await page.getByText('The organization has a policy of its own.').waitFor();
    const own = { ...USUAL, mailCode: 'all', initMail: 'unlessWayIn', linking: 'confirm', isDefault: false };
    const more = { smsCode: 'withoutPassword', passkeys: false, deleteAccount: true };
    assert.deepEqual(await policy(orgId), { ...own, ...more });
    await page.getByRole('link', { name: 'Change how users sign in' }).click();
    assert(await page.getByLabel('Everybody with a verified address').isChecked());
    await page.getByRole('button', { name: 'Take the policy of the service' }).click();
    await page.getByText('The organization has the policy of the service.').waitFor();
    assert.deepEqual(await policy(orgId), USUAL);
  });

  it('is not changed by a choice that the form does not have', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    const page = await world.enter(t, `/console/organizations/${orgId}/login`);
    const chosen = {
      mailCode: 'all',
      smsCode: 'off',
      initMail: 'always',
      forceMfa: 'false',
      linking: 'refuse',
      passkeys: 'true',
      deleteAccount: 'false',
    };
    const wrongs = [
      { mailCode: 'everybody' },
      { smsCode: 'sometimes' },
      { initMail: '' },
      { forceMfa: 'no' },
      { linking: 'always' },
      { passkeys: '' },
      { deleteAccount: 'perhaps' },
    ];
    for (const wrong of wrongs) {
      const headers = { origin: world.api.url };
      const sent = await page.request.post(page.url(), { headers, form: { ...chosen, ...wrong } });
      assert.equal(sent.status(), 400, JSON.stringify(wrong));
      assert.match(await sent.text(), /must be/);
    }
    assert.deepEqual(await policy(orgId), USUAL);
  });

  it('is not for those to change who only look', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.other;
    const page = await world.enter(t, `/console/organizations/${orgId}/login`, undefined);
    assert.equal((await page.request.get(page.url())).status(), 403, 'an owner of another organization');
  });

  it('is set for the service by an administrator, for organizations without their own', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    await makeIamOwner(world.api, world.other);
    const page = await world.enter(t, '/console/system', world.other, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'How users sign in' }).click();
    await page.getByLabel('They get a new user').check();
    await page.getByRole('button', { name: 'Set how users sign in' }).click();
    await page.getByText('How users sign in is set.').waitFor();
    assert.equal((await policy(world.other.orgId)).linking, 'create');
    await page.getByLabel('They sign in nobody').check();
    await page.getByRole('button', { name: 'Set how users sign in' }).click();
    await page.getByText('How users sign in is set.').waitFor();
    assert.deepEqual(await policy(world.other.orgId), USUAL);
  });

  it('has pages that everybody can use', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    await must(world.api.call('PUT', POLICY, { mailCode: 'off' }, { orgId }));
    const page = await world.enter(t, `/console/organizations/${orgId}`);
    const found = await findingsOf(page, 'organization-login');
    await page.getByRole('link', { name: 'Change how users sign in' }).click();
    found.push(...(await findingsOf(page, 'organization-login-form')));
    assert.deepEqual(found, []);
  });
});

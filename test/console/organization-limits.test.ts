/** The limits of an organization in the console: its owner sees them with their use, an administrator sets them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SetUp } from '../support/api.ts';
import { must } from '../support/calls.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

const LIMITS = '/management/v1/orgs/me/limits';

describe('the limits of an organization', () => {
  let world: World;
  let admin: SetUp;
  before(async () => {
    world = await openWorld();
    admin = await world.api.setupOrg({ org: { name: 'Operators Ltd' } });
    await makeIamOwner(world.api, admin);
  });
  after(() => world.stop());

  it('are shown to its owner with what is used, and are not theirs to set', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    const page = await world.enter(t, `/console/organizations/${orgId}`);
    const row = (name: string | RegExp) => page.getByRole('row', { name }).allTextContents();
    assert.match(String(await row('Users of one import')), /Not limited/);
    assert.match(String(await row('Emails and text messages a day')), /Not limited\s+Not counted/);
    await must(world.api.call('PUT', LIMITS, { users: 5000, mailsPerDay: 20, requestsPerMinute: 60 }, { orgId }));
    const { token } = await world.api.machine(orgId);
    await must(world.api.call('GET', '/management/v1/me', undefined, { token }));
    await page.reload();
    assert.match(String(await row(/^Users 5,000/)), /5,000\s+2\s*$/);
    assert.match(String(await row('Emails and text messages a day')), /20\s+0\s*$/);
    assert.match(String(await row('Requests a minute')), /60\s+1\s*$/);
    await must(world.api.call('PUT', LIMITS, { users: 5000, mailsPerDay: 20, requestsPerMinute: 1 }, { orgId }));
    await page.reload();
    assert.match(String(await row('Requests a minute')), /1\s+1\s*$/, 'the console is not counted');
    assert.equal(await page.getByRole('link', { name: 'Change the limits' }).count(), 0);
    assert.deepEqual(await findingsOf(page, 'organization-limits'), []);
    const path = `${world.api.url}/console/organizations/${orgId}/limits`;
    const [seen, sent] = [
      await page.request.get(path),
      await page.request.post(path, { headers: { origin: world.api.url }, form: { users: '9' } }),
    ];
    assert.deepEqual([seen.status(), sent.status()], [403, 403]);
    assert.equal((await must(world.api.call('GET', LIMITS, undefined, { orgId }))).body.users, 5000);
  });

  it('are set by an administrator, and what is no number changes nothing', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.other;
    await must(world.api.call('PUT', LIMITS, { users: 7, importsAtOnce: 2 }, { orgId }));
    const page = await world.enter(t, `/console/organizations/${orgId}`, admin, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Change the limits' }).click();
    const users = page.getByLabel('Users', { exact: true });
    assert.equal(await users.inputValue(), '7');
    await users.fill('1,000');
    await page.getByLabel('Imports at once').fill('');
    await page.getByLabel('Requests a minute').fill('0');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await page.getByText('must be a whole number from 0 to 1000000000').waitFor();
    assert.equal(await users.inputValue(), '1,000');
    assert.equal(await page.getByLabel('Imports at once').inputValue(), '');
    const {
      details: _,
      usage: __,
      ...unchanged
    } = (await must(world.api.call('GET', LIMITS, undefined, { orgId }))).body;
    assert.deepEqual(unchanged, { users: 7, importsAtOnce: 2 });
    await users.fill('1000');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await page.getByText('The limits are set.').waitFor();
    const { details, usage, ...limits } = (await must(world.api.call('GET', LIMITS, undefined, { orgId }))).body;
    assert.deepEqual(limits, { users: 1000, requestsPerMinute: 0 });
    assert.equal(details.resourceOwner, orgId);
    assert.equal(usage.requestsPerMinute, 0);
  });

  it('have a form that everybody can use', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const path = `/console/organizations/${world.other.orgId}/limits`;
    const page = await world.enter(t, path, admin);
    const found = await findingsOf(page, 'organization-limits-form');
    await page.getByLabel('Users', { exact: true }).fill('many');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await page.getByText('must be a whole number').waitFor();
    found.push(...(await findingsOf(page, 'organization-limits-wrong')));
    assert.deepEqual(found, []);
  });
});

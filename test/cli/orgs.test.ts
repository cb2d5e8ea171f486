/** `muster orgs`, and how commands find the organization that a person means. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startApi, type TestApi, unique } from '../support/api.ts';
import { dataUrl, LOSSY } from '../support/pictures.ts';
import { runMuster } from '../support/processes/muster.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const muster = (token: string, ...args: string[]) =>
  runMuster(['orgs', ...args], { env: { MUSTER_URL: api.url, MUSTER_TOKEN: token } });
const asOwner = (...args: string[]) => muster(api.token, ...args);

test('create prints only the id, and get finds the organization by id, name and domain', async () => {
  const name = unique('Ümläut & Co');
  const { code, stdout, stderr } = await asOwner('create', name);
  assert.equal(code, 0);
  const id = stdout.trim();
  assert.ok(stderr.includes(`--org ${id}`));
  const { org } = JSON.parse((await asOwner('get', id, '--json')).stdout);
  assert.deepEqual([org.id, org.name], [id, name]);
  for (const text of [name, org.primaryDomain, org.primaryDomain.toUpperCase()]) {
    const shown = await asOwner('get', text);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, new RegExp(`^id +${id}\\nname +${name}\\ndomain +${org.primaryDomain}\\ncreated`));
  }
});

test('create accepts an id and a domain, and refuses taken ones', async () => {
  const id = unique('globex');
  assert.equal((await asOwner('create', 'Globex', '--id', id, '--domain', `${id}.example`)).stdout, `${id}\n`);
  const again = await asOwner('create', 'Globex', '--id', id);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /ORG-ID-TAKEN/);
  const bad = JSON.parse((await asOwner('create', 'Globex', '--domain', 'no domain', '--json')).stderr);
  assert.match(bad.error.message, /domain/);
});

test('the allowed URLs are listed, added and removed', async () => {
  const org = (await asOwner('create', unique('Urls'))).stdout.trim();
  const url = 'https://app.example.com';
  assert.equal((await asOwner('allowed-urls', org)).stdout, 'None.\n');
  for (const entered of ['https://b.example.com', `${url}/`, url]) {
    const { code, stderr } = await asOwner('allow-url', org, entered);
    assert.equal(code, 0, stderr);
  }
  assert.equal((await asOwner('allowed-urls', org)).stdout, `https://b.example.com\n${url}\n`);
  const { stdout } = await asOwner('disallow-url', org, url, '--json');
  assert.deepEqual(JSON.parse(stdout), { allowedUrls: ['https://b.example.com'] });
  const refused = await asOwner('allow-url', org, 'https://app.example.com/path');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /must be an origin such as https:\/\/app\.example\.com, without a path/);
});

test('the names that users sign in with are shown and set', async () => {
  const org = (await asOwner('create', unique('Names'))).stdout.trim();
  const all = `Users of ${org} sign in with: userName, loginName, email\n`;
  assert.equal((await asOwner('sign-in-names', org)).stdout, all);
  const set = await asOwner('sign-in-names', org, '--set', 'email', 'userName', '--json');
  assert.deepEqual(JSON.parse(set.stdout).signInNames, ['userName', 'email']);
  assert.equal((await asOwner('sign-in-names', org, '--set', 'phone')).code, 2);
});

test('the login policy is shown, set field by field, and reset', async () => {
  const org = (await asOwner('create', unique('Policy'))).stdout.trim();
  const [owner, viewer] = [await api.machine(org, ['ORG_OWNER']), await api.machine(org, ['ORG_OWNER_VIEWER'])];
  const shown = (
    mailCode: string,
    initMail: string,
    forceMfa: string,
    end: string,
    linking = 'refuse',
    smsCode = 'off',
  ) =>
    new RegExp(
      [
        'OPTION +VALUE +MEANING',
        `--mail-code +${mailCode} +\\S.*`,
        `--sms-code +${smsCode} +\\S.*`,
        `--init-mail +${initMail} +\\S.*`,
        `--force-mfa +${forceMfa} +\\S.*`,
        `--linking +${linking} +\\S.*`,
        '--passkeys +true +\\S.*',
        '--delete-account +false +\\S.*',
        `${org} has ${end}\\.`,
      ].join('\n'),
    );
  const usual = shown('withoutPassword', 'always', 'false', 'the policy of the service');
  assert.match((await muster(viewer.token, 'login-policy', org)).stdout, usual);
  const set = await muster(owner.token, 'login-policy', org, '--mail-code', 'all', '--force-mfa', 'true');
  assert.match(set.stdout, shown('all', 'always', 'true', 'a policy of its own'));
  const { stdout } = await muster(owner.token, 'login-policy', org, '--init-mail', 'unlessWayIn', '--json');
  const { details: _, ...policy } = JSON.parse(stdout).policy;
  assert.deepEqual(policy, {
    mailCode: 'all',
    smsCode: 'off',
    initMail: 'unlessWayIn',
    forceMfa: true,
    linking: 'refuse',
    passkeys: true,
    deleteAccount: false,
    isDefault: false,
  });
  const ways = ['--sms-code', 'withoutPassword', '--passkeys', 'false', '--delete-account', 'true'];
  const { policy: own } = JSON.parse((await muster(owner.token, 'login-policy', org, ...ways, '--json')).stdout);
  assert.deepEqual(
    [own.smsCode, own.passkeys, own.deleteAccount, own.mailCode],
    ['withoutPassword', false, true, 'all'],
  );
  const back = ['--sms-code', 'off', '--passkeys', 'true', '--delete-account', 'false'];
  assert.equal((await muster(owner.token, 'login-policy', org, ...back)).code, 0);
  assert.equal((await muster(viewer.token, 'login-policy', org, '--mail-code', 'off')).code, 4);
  assert.equal((await muster(owner.token, 'login-policy', org, '--mail-code', 'never')).code, 2);
  const both = await muster(owner.token, 'login-policy', org, '--reset', '--mail-code', 'off');
  assert.deepEqual([both.code, both.stdout], [2, '']);
  assert.match(
    (await muster(owner.token, 'login-policy', org)).stdout,
    shown('all', 'unlessWayIn', 'true', 'a policy of its own'),
  );
  assert.match((await muster(owner.token, 'login-policy', org, '--reset')).stdout, usual);
});

test('the login policy of the service is shown and set by an IAM_OWNER', async () => {
  const of = async (...args: string[]) => JSON.parse((await asOwner('login-policy', ...args, '--json')).stdout).policy;
  const org = (await asOwner('create', unique('Default'))).stdout.trim();
  assert.equal((await asOwner('login-policy', '--instance', '--linking', 'confirm')).code, 0);
  assert.deepEqual([(await of('--instance')).linking, (await of(org)).linking], ['confirm', 'confirm']);
  assert.match((await asOwner('login-policy', '--instance', '--linking', 'refuse')).stdout, /policy of the service/);
  const { token } = await api.machine(org, ['ORG_OWNER']);
  assert.equal((await muster(token, 'login-policy', '--instance', '--linking', 'create')).code, 4);
  for (const wrong of [[], [org, '--instance'], ['--instance', '--reset']]) {
    assert.equal((await asOwner('login-policy', ...wrong)).code, 2, wrong.join(' '));
  }
});

test('an ambiguous name is refused; an id takes precedence over a name', async () => {
  const name = unique('Twin');
  const ids = [(await asOwner('create', name)).stdout.trim(), (await asOwner('create', name)).stdout.trim()];
  const { code, stderr } = await asOwner('get', name);
  assert.equal(code, 2);
  for (const id of ids) assert.ok(stderr.includes(id));
  assert.match(stderr, /Use the id/);
  const named = unique('named');
  await asOwner('create', 'by id', '--id', named);
  await asOwner('create', named);
  assert.match((await asOwner('get', named)).stdout, new RegExp(`^id +${named}\\n`));
});

test('a user without a role on the instance finds and lists only their organizations', async () => {
  const [mine, other] = [await api.setupOrg({ org: { name: unique('Mine') } }), await api.setupOrg()];
  const { token, userId } = await api.machine(mine.orgId, ['ORG_USER_MANAGER']);
  const listed = await muster(token, 'list');
  assert.match(listed.stdout, new RegExp(`${mine.orgId} +Mine-\\S+ +\\S+ +ORG_USER_MANAGER\\n$`));
  assert.ok(!listed.stdout.includes(other.orgId));
  assert.equal((await muster(token, 'get', mine.orgId)).code, 0);
  for (const theirs of [other.orgId, unique('nothing')]) {
    const { code, stderr } = await muster(token, 'get', theirs);
    assert.equal(code, 2);
    assert.match(stderr, /You have a role on .*Mine.*IAM_OWNER/);
  }
  assert.equal((await muster(token, 'create', 'Not mine')).code, 4);
  const roles = { userId, roles: ['ORG_OWNER'] };
  await api.call('POST', '/management/v1/orgs/me/members', roles, { orgId: other.orgId });
  assert.equal((await muster(token, 'get', other.orgId)).code, 0);

  const nobody = await api.machine(mine.orgId);
  assert.match((await muster(nobody.token, 'get', mine.orgId)).stderr, /You have no role on any organization/);
  assert.equal((await muster(nobody.token, 'list')).stdout, 'None.\n');
});

test('list is limited, and says how many are left', async () => {
  const { stdout, stderr } = await asOwner('list', '--limit', '1');
  assert.equal(stdout.trimEnd().split('\n').length, 2);
  assert.match(stderr, /^\d+ more/);
  const { details, result } = JSON.parse((await asOwner('list', '--json')).stdout);
  assert.equal(Number(details.totalResult), result.length);
});

test('an organization is deleted after a look at what goes, and taken back', async () => {
  const org = (await asOwner('create', unique('Deleted'))).stdout.trim();
  await api.machine(org, ['ORG_OWNER']);
  const shown = await asOwner('delete', org, '--dry-run');
  assert.match(shown.stdout, /machine users +1\nmemberships +1\n/);
  assert.equal(JSON.parse((await asOwner('delete', org, '--dry-run', '--json')).stdout).machineUsers, 1);
  assert.match((await asOwner('delete', org)).stderr, /--yes/, 'it asks first');
  assert.match((await asOwner('get', org)).stdout, /state +ACTIVE/);
  assert.match((await asOwner('delete', org, '--yes')).stdout, new RegExp(`Organization ${org} is deleted\\.\n$`));
  assert.match((await asOwner('get', org)).stdout, /state +REMOVED\nremoved on +20/);
  assert.equal((await asOwner('undelete', org)).stdout, `Organization ${org} is back.\n`);
  assert.match((await asOwner('get', org)).stdout, /state +ACTIVE\n$/);
});

test('an organization is deactivated and reactivated, by an IAM_OWNER only', async () => {
  const org = (await asOwner('create', unique('Stopped'))).stdout.trim();
  const { token } = await api.machine(org, ['ORG_OWNER']);
  assert.equal((await muster(token, 'deactivate', org, '--yes')).code, 4);
  assert.match((await asOwner('deactivate', org)).stderr, /--yes/, 'it asks first');
  assert.equal((await asOwner('deactivate', org, '--yes')).stdout, `Organization ${org} is deactivated.\n`);
  assert.match((await asOwner('get', org)).stdout, /state +INACTIVE/);
  assert.match((await asOwner('list', '--limit', '1000')).stdout, new RegExp(`${org}.*INACTIVE`));
  assert.match((await asOwner('deactivate', org, '--yes')).stderr, /ORG-STATE/);
  assert.equal((await asOwner('reactivate', org)).stdout, `Organization ${org} is reactivated.\n`);
  assert.match((await asOwner('get', org)).stdout, /state +ACTIVE/);
});

test('the limits are shown and set one by one', async () => {
  const org = (await asOwner('create', unique('Limited'))).stdout.trim();
  const { token } = await api.machine(org, ['ORG_OWNER']);
  const none =
    /^LIMIT +AT MOST +IN USE\nusers +none +1\nimports at once +none +0\nusers per import +none *\nmails a day +none *\ntext messages a day +none *\nrequests a minute +none *\n$/;
  assert.match((await muster(token, 'limits', org)).stdout, none);
  assert.match((await muster(token, 'limits', org, '--users', '5')).stderr, /AUTH-PERMISSION/);
  await asOwner('limits', org, '--users', '5', '--users-per-import', '0', '--sms-per-day', '7');
  const { users, importsAtOnce, usersPerImport, smsPerDay, usage } = JSON.parse(
    (await asOwner('limits', org, '--imports-at-once', '2', '--json')).stdout,
  );
  assert.deepEqual(
    [users, importsAtOnce, usersPerImport, smsPerDay, usage.smsPerDay],
    [5, 2, 0, 7, 0],
    'the others stay',
  );
  await asOwner('limits', org, '--users', 'none', '--imports-at-once', 'none', '--users-per-import', 'none');
  await asOwner('limits', org, '--sms-per-day', 'none');
  assert.match((await asOwner('limits', org)).stdout, none);
  const wrong = await asOwner('limits', org, '--users', '-1');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /must be a whole number or none/);
});

test('the branding is shown, set field by field from values and files, and reset', async (t) => {
  const org = (await asOwner('create', unique('Branded'))).stdout.trim();
  const [owner, viewer] = [await api.machine(org, ['ORG_OWNER']), await api.machine(org, ['ORG_OWNER_VIEWER'])];
  const folder = await mkdtemp(join(tmpdir(), 'muster-branding-'));
  t.after(() => rm(folder, { recursive: true }));
  const [logo, text] = [join(folder, 'logo.webp'), join(folder, 'welcome.txt')];
  await writeFile(logo, LOSSY);
  await writeFile(text, 'Dear {displayName},\n\nwelcome.\n');
  const set = ['--name', 'Acme', '--logo', logo, '--initialise-text', text, '--help-link', 'https://a.example/help'];
  const first = await muster(
    owner.token,
    'branding',
    org,
    ...set,
    '--primary-color',
    '#ffee00',
    '--corner-radius',
    '4',
  );
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stdout,
    /--primary-color +#ffee00[\s\S]*shown darker or lighter[\s\S]*has a branding of its own\./,
  );
  const { policy } = JSON.parse((await muster(viewer.token, 'branding', org, '--json')).stdout);
  assert.deepEqual([policy.name, policy.logo, policy.cornerRadius], ['Acme', dataUrl(LOSSY), 4]);
  assert.deepEqual(policy.texts, { initialise: 'Dear {displayName},\n\nwelcome.' });
  const less = await muster(owner.token, 'branding', org, '--reset', 'logo', 'help-link', '--json');
  assert.deepEqual(JSON.parse(less.stdout).policy.own, ['name', 'primaryColor', 'cornerRadius', 'texts.initialise']);
  const svg = join(folder, 'logo.svg');
  await writeFile(svg, '<svg/>');
  const refused = await muster(owner.token, 'branding', org, '--logo', svg, '--theme', 'pink');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /logo must be a PNG or WebP.*theme must be auto, light or dark/);
  assert.equal((await muster(owner.token, 'branding', org, '--logo', join(folder, 'none.png'))).code, 2);
  assert.equal((await muster(owner.token, 'branding', org, '--corner-radius', 'round')).code, 2);
  assert.equal((await muster(viewer.token, 'branding', org, '--name', 'Mine')).code, 4);
  assert.equal((await muster(owner.token, 'branding', '--instance', '--name', 'Mine')).code, 4);
  const all = await muster(owner.token, 'branding', org, '--reset-all');
  assert.match(all.stdout, /has the branding of the service\./);
});

/** How pages and mails look: the operations, who may call them, and the pictures at their address. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { badFieldsOf, errorId, startApi, type TestApi } from '../support/api.ts';
import { dataUrl, LOSSY, png, WITH_METADATA } from '../support/pictures.ts';

const OF_ORG = '/management/v1/policies/branding';
const OF_INSTANCE = '/admin/v1/policies/branding';
const INITIALISE = 'Hello {displayName},\n\nplease choose a password for {userName} at {orgName}.';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
});
beforeEach(async () => {
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, { orgId });
const put = async (body: object, path = OF_ORG) => {
  const answer = await call('PUT', path, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
};
const policyOf = async () => (await call('GET', OF_ORG)).body.policy;

describe('the branding', () => {
  it('is the instance’s field by field until the organization sets its own, and again after a reset', async () => {
    const first = await policyOf();
    assert.deepEqual([first.own, first.isDefault, first.details.resourceOwner], [[], true, 'instance']);
    assert.deepEqual([first.name, first.links, first.isShifted], [undefined, {}, false]);
    await put(
      { name: 'Service', theme: 'dark', links: { help: 'https://s.example/help', terms: 'https://s.example/t' } },
      OF_INSTANCE,
    );
    await put({ name: 'Acme', links: { help: 'https://acme.example/help' }, texts: { initialise: INITIALISE } });
    const own = await policyOf();
    assert.deepEqual(own.own, ['name', 'links.help', 'texts.initialise']);
    assert.deepEqual(own.links, { help: 'https://acme.example/help', terms: 'https://s.example/t' });
    assert.deepEqual(
      [own.name, own.theme, own.texts, own.isDefault],
      ['Acme', 'dark', { initialise: INITIALISE }, false],
    );
    await put({ cornerRadius: 0, reset: ['name', 'links.help'] });
    const less = await policyOf();
    assert.deepEqual([less.name, less.links.help, less.cornerRadius], ['Service', 'https://s.example/help', 0]);
    assert.equal((await call('DELETE', OF_ORG)).status, 200);
    const none = await policyOf();
    assert.deepEqual([none.name, none.cornerRadius, none.own, none.isDefault], ['Service', undefined, [], true]);
    const { body } = await call('GET', '/management/v1/policies/default/branding');
    assert.deepEqual({ ...body.policy, own: [] }, none);
    assert.deepEqual(body.policy.own, ['name', 'theme', 'links.help', 'links.terms']);
    const reset = ['name', 'theme', 'links.help', 'links.terms'];
    await put({ reset }, OF_INSTANCE);
    const { rows } = await api.deps.pool.query(
      `select type from events where aggregate_id = $1 and type like '%branding%' order by sequence`,
      [orgId],
    );
    const kinds = ['added', 'changed', 'reset'];
    assert.deepEqual(
      rows.map(({ type }) => type),
      kinds.map((kind) => `organization.policy.branding.${kind}`),
    );
  });

  it('says which colours result, and whether they were moved', async () => {
    await put({ primaryColor: '#FFEE00', backgroundColor: '#eef6f1' });
    const { primaryColor, colors, isShifted } = await policyOf();
    assert.deepEqual([primaryColor, isShifted, colors.light.page], ['#ffee00', true, '#eef6f1']);
    assert.notEqual(colors.light.accent, '#ffee00');
    assert.equal(colors.dark.accent, '#ffee00');
  });

  it('refuses everything that is no plain value of its field, and names all such fields at once', async () => {
    const bad = {
      name: 'Acme\r\nBcc: all@acme.example',
      logo: dataUrl(Buffer.from('<svg/>'), 'image/svg+xml'),
      primaryColor: 'url(https://evil.example/x)',
      backgroundColor: '#fff;}*{display:none',
      theme: 'pink',
      cornerRadius: 25,
      links: { help: 'http://acme.example', terms: 'javascript:alert(1)', privacy: 'https://a:b@acme.example' },
      supportEmail: 'Help <help@acme.example>',
      senderName: 'Acme\u2028Team',
      language: 'en_US!',
      texts: {
        initialise: 'See https://evil.example',
        verifyEmail: '{password}',
        addPasskey: '{',
        resetPassword: '\u0007',
      },
      reset: ['details'],
    };
    const answer = await call('PUT', OF_ORG, bad);
    assert.equal(errorId(answer), 'POLICY-BRANDING-INVALID');
    assert.deepEqual(badFieldsOf(answer).sort(), [
      ...['backgroundColor', 'cornerRadius', 'language', 'links.help', 'links.privacy', 'links.terms', 'logo', 'name'],
      ...['primaryColor', 'reset[0]', 'senderName', 'supportEmail'],
      ...['texts.addPasskey', 'texts.initialise', 'texts.resetPassword', 'texts.verifyEmail', 'theme'],
    ]);
    const { description } = answer.body.details[1].fieldViolations.find(
      (one: { field: string }) => one.field === 'texts.verifyEmail',
    );
    assert.match(description, /\{displayName\}, \{orgName\}, and \{userName\}, not \{password\}$/);
    assert.equal(errorId(await call('PUT', OF_ORG, {})), 'POLICY-BRANDING-INVALID');
    assert.equal((await policyOf()).isDefault, true);
  });

  it('belongs to the owners of the organization and of the instance', async () => {
    const other = await api.setupOrg();
    const { token } = await api.machine(other.orgId, ['ORG_OWNER']);
    const manager = await api.machine(orgId, ['ORG_USER_MANAGER']);
    const owner = await api.machine(orgId, ['ORG_OWNER']);
    const body = { name: 'Stolen', logo: dataUrl(png()) };
    assert.equal((await api.call('PUT', OF_ORG, body, { token, orgId })).status, 403);
    assert.equal((await api.call('GET', OF_ORG, undefined, { token, orgId })).status, 403);
    assert.equal((await api.call('DELETE', OF_ORG, undefined, { token, orgId })).status, 403);
    assert.equal((await api.call('PUT', OF_ORG, body, { token: manager.token, orgId })).status, 403);
    assert.equal((await api.call('GET', OF_ORG, undefined, { token: manager.token, orgId })).status, 200);
    assert.equal((await api.call('PUT', OF_INSTANCE, body, { token: owner.token, orgId })).status, 403);
    assert.equal((await api.call('PUT', OF_ORG, { name: 'Mine' }, { token: owner.token, orgId })).status, 200);
    assert.equal((await policyOf()).name, 'Mine');
  });

  it('takes one of two changes at the same time after the other', async () => {
    const all = Array.from({ length: 8 }, (_, i) =>
      call('PUT', OF_ORG, { texts: { initialise: `Text ${i}` }, cornerRadius: i }),
    );
    const answers = await Promise.all(all);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const { texts, cornerRadius, details } = await policyOf();
    assert.equal(texts.initialise, `Text ${cornerRadius}`);
    const last = answers
      .map(({ body }) => BigInt(body.details.sequence))
      .sort((a, b) => (a < b ? -1 : 1))
      .at(-1);
    assert.equal(details.sequence, String(last));
  });
});

describe('the picture', () => {
  const load = (url: string, init?: RequestInit) => fetch(url, init);

  it('is answered at its hash, by our origin, as what it is and nothing else', async () => {
    await put({ logo: dataUrl(WITH_METADATA) });
    const { logo, logoUrl } = await policyOf();
    assert.match(logo, /^data:image\/webp;base64,/);
    const path = new URL(logoUrl).pathname;
    assert.match(path, /^\/ui\/branding\/[0-9a-f]{64}$/);
    const answer = await load(api.url + path);
    assert.equal(answer.status, 200);
    assert.equal(dataUrl(Buffer.from(await answer.arrayBuffer())), logo);
    const header = (name: string) => answer.headers.get(name);
    assert.equal(header('content-type'), 'image/webp');
    assert.equal(header('x-content-type-options'), 'nosniff');
    assert.equal(header('content-security-policy'), "default-src 'none'; sandbox");
    assert.equal(header('cache-control'), 'public, max-age=31536000, immutable');
  });

  it('is found by nothing but the whole hash, and no longer when it is replaced', async () => {
    await put({ logo: dataUrl(png()) });
    const { logoUrl } = await policyOf();
    const path = new URL(logoUrl).pathname;
    const hash = path.split('/').at(-1) as string;
    const guesses = [
      orgId,
      hash.slice(0, 63),
      `${hash}0`,
      hash.toUpperCase(),
      '%25',
      '..%2f..',
      '0'.repeat(64),
      'null',
    ];
    for (const guess of guesses) {
      assert.equal((await load(`${api.url}/ui/branding/${guess}`)).status, 404, guess);
    }
    await put({ logo: dataUrl(LOSSY) });
    assert.equal((await load(api.url + path)).status, 404);
    await put({ reset: ['logo'] });
    assert.equal((await policyOf()).logo, undefined);
  });

  it('of the instance is that of organizations without one', async () => {
    await put({ logo: dataUrl(png()) }, OF_INSTANCE);
    assert.equal((await policyOf()).logo, dataUrl(png()));
    await put({ logo: dataUrl(LOSSY) });
    assert.equal((await policyOf()).logo, dataUrl(LOSSY));
    await put({ reset: ['logo'] }, OF_INSTANCE);
  });
});

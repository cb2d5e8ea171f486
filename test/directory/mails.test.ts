/** Mails as people get them, before any is sent: previews of an organization, samples to oneself, and the commands. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { NOTICE_KINDS, PREVIEW_KINDS } from '../../src/contract/link-templates.ts';
import { errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { must } from '../support/calls.ts';
import { dataUrl, png } from '../support/pictures.ts';
import { runMuster } from '../support/processes/muster.ts';
import { tokenOf } from './users/people.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const preview = async (orgId: string, body: unknown) =>
  (await must(api.call('POST', '/management/v1/mails/_preview', body, { orgId }))).body;
const sample = (orgId: string, token: string, body: unknown = { kind: 'initialise', language: 'de' }) =>
  api.call('POST', '/management/v1/mails/_sample', body, { orgId, token });
const nameOf = async (orgId: string) =>
  (await must(api.call('GET', '/management/v1/orgs/me', undefined, { orgId }))).body.org.name as string;
const muster = (...args: string[]) =>
  runMuster(['mails', ...args], { env: { MUSTER_URL: api.url, MUSTER_TOKEN: api.token } });

/** A person who manages users of the organization, with a token. */
async function manager(orgId: string, isVerified: boolean): Promise<{ userId: string; token: string; email: string }> {
  const email = `${unique('m')}@acme.example`;
  const person = {
    username: email,
    organization: { orgId },
    profile: { givenName: 'Mia', familyName: 'Manager', displayName: 'Mia Manager' },
    email: { email, ...(isVerified ? { isVerified } : {}) },
  };
  const { userId } = (await must(api.call('POST', '/v2beta/users/human', person))).body;
  await must(api.call('POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_USER_MANAGER'] }, { orgId }));
  return { userId, token: await tokenOf(api, userId), email };
}

test('every kind is shown in English and German, with the name of the organization, and nothing is written', async () => {
  const { orgId } = await api.setupOrg();
  const name = await nameOf(orgId);
  const mails = 'select count(*)::int as n from mail_outbox';
  const before = await api.deps.pool.query(mails);
  const subjects = new Set<string>();
  for (const kind of PREVIEW_KINDS) {
    for (const language of ['en', 'de']) {
      const mail = await preview(orgId, { kind, language });
      assert.equal(mail.language, language);
      assert.ok(mail.subject.startsWith(`${name}: `), mail.subject);
      assert.match(mail.html, new RegExp(`<html lang="${language}"`));
      subjects.add(mail.subject);
    }
  }
  // Both codes for a sign-in have one subject.
  assert.equal(subjects.size, 2 * (PREVIEW_KINDS.length - 1));
  assert.ok(PREVIEW_KINDS.length > NOTICE_KINDS.length);
  assert.equal((await preview(orgId, { kind: 'initialise', language: 'de-AT' })).language, 'de');
  assert.equal((await preview(orgId, { kind: 'initialise' })).language, 'en');
  const refused = await api.call('POST', '/management/v1/mails/_preview', { kind: 'nothing' }, { orgId });
  assert.equal(errorId(refused), 'MAIL-PREVIEW-INVALID');
  assert.deepEqual((await api.deps.pool.query(mails)).rows, before.rows);
});

test('a branding that is not stored is shown to those who may store it, over what is stored', async () => {
  const { orgId } = await api.setupOrg();
  const stored = { name: 'Stored', links: { help: 'https://acme.example/help' } };
  await must(api.call('PUT', '/management/v1/policies/branding', stored, { orgId }));
  const branding = { primaryColor: '#0b7a3e', logo: dataUrl(png()), texts: { initialise: 'Hello {displayName}.' } };
  const mail = await preview(orgId, { kind: 'initialise', branding });
  assert.match(mail.html, /#0b7a3e/);
  assert.match(mail.html, /src="data:image\/png;base64,/);
  assert.match(mail.html, /https:\/\/acme\.example\/help/);
  assert.match(mail.text, /Hello Ann Example\./);
  assert.match((await preview(orgId, { kind: 'initialise' })).html, /Stored/);
  const reset = await preview(orgId, { kind: 'initialise', branding: { reset: ['name', 'links.help'] } });
  assert.doesNotMatch(reset.html, /Stored|acme\.example/);
  assert.doesNotMatch((await preview(orgId, { kind: 'initialise' })).html, /#0b7a3e|data:image/);
  const wrong = { kind: 'initialise', branding: { texts: { initialise: 'https://evil.example' } } };
  const refused = await api.call('POST', '/management/v1/mails/_preview', wrong, { orgId });
  assert.equal(errorId(refused), 'MAIL-PREVIEW-INVALID');
  const { token } = await manager(orgId, true);
  const body = { kind: 'initialise', branding };
  assert.equal((await api.call('POST', '/management/v1/mails/_preview', body, { orgId, token })).status, 403);
  assert.equal((await sample(orgId, token, body)).status, 400);
});

test('a sample goes to the verified address of the caller, who cannot use up what others have', async () => {
  const { orgId } = await api.setupOrg();
  const [one, other, unverified] = [
    await manager(orgId, true),
    await manager(orgId, true),
    await manager(orgId, false),
  ];
  assert.deepEqual((await must(sample(orgId, one.token))).body, { address: one.email });
  const { rows } = await api.deps.pool.query(
    'select kind, org_id, sample, code_id, address from mail_outbox where user_id = $1',
    [one.userId],
  );
  assert.deepEqual(rows, [{ kind: 'initialise', org_id: orgId, sample: 'de', code_id: null, address: null }]);
  assert.equal(errorId(await sample(orgId, unverified.token)), 'MAIL-NO-ADDRESS');
  assert.equal(errorId(await sample(orgId, api.token)), 'MAIL-NO-ADDRESS');
  for (let n = 1; n < 20; n++) await must(sample(orgId, one.token));
  const refused = await sample(orgId, one.token);
  assert.deepEqual([refused.status, errorId(refused)], [429, 'RATE-LIMIT']);
  await must(sample(orgId, other.token));
  await must(api.call('POST', '/management/v1/orgs/me/_deactivate', {}, { orgId }));
  const asAdmin = await api.call('POST', '/management/v1/mails/_sample', { kind: 'initialise' }, { orgId });
  assert.equal(errorId(asAdmin), 'ORG-INACTIVE');
});

test('`muster mails` prints a mail, and writes its HTML and its text', async () => {
  const { orgId } = await api.setupOrg();
  const name = await nameOf(orgId);
  const folder = await mkdtemp(join(tmpdir(), 'muster-mails-'));
  try {
    const printed = await muster('preview', 'add_passkey', '--org', name, '--language', 'de');
    assert.match(printed.stdout, /^.*: Fügen Sie Ihrem Konto einen Passkey hinzu\n\nGuten Tag Ann Example,\n/);
    const written = await muster('preview', 'initialise', '--org', orgId, '--output', join(folder, 'new'));
    assert.equal(written.code, 0, written.stderr);
    assert.deepEqual((await readdir(join(folder, 'new'))).sort(), ['initialise.en.html', 'initialise.en.txt']);
    assert.match(await readFile(join(folder, 'new', 'initialise.en.html'), 'utf8'), /^<!doctype html>/);
    await muster('preview', 'initialise', '--org', orgId, '--output', join(folder, 'one.html'));
    assert.match(await readFile(join(folder, 'one.html'), 'utf8'), /^<!doctype html>/);
    const refused = await muster('sample', 'initialise', '--org', orgId);
    assert.match(refused.stderr, /no verified email address/);
    assert.notEqual((await muster('preview', 'nothing')).code, 0);
  } finally {
    await rm(folder, { recursive: true });
  }
});

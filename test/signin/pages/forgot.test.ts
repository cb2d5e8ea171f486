import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, addVerified } from '../../directory/users/people.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';
import { comparable, visitor } from './visitor.ts';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi({ env: { RATE_LIMIT_LOGINS: '12' } });
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

async function mailsTo(userId: string): Promise<string[]> {
  const { rows } = await api.deps.pool.query<{ kind: string }>('select kind from mail_outbox where user_id = $1', [
    userId,
  ]);
  return rows.map((row) => row.kind);
}

describe('the page of a forgotten password', () => {
  it('shows the same page for every login name, and mails existing users', async () => {
    const active = await addVerified(api, orgId, 'old');
    const initial = await addHuman(api, orgId);
    const shown = new Set<string>();
    for (const loginName of [active, initial, 'nobody', `a\0b`, 'x'.repeat(2000)]) {
      const page = await visitor(api).post('/ui/forgot', { loginName });
      assert.equal(page.status, 200);
      shown.add(comparable(page));
    }
    assert.equal(shown.size, 1);
    assert.match([...shown][0] ?? '', /Check your email/);
    await waitFor(async () => (await mailsTo(initial)).length, { what: 'the mail to the second user' });
    assert.deepEqual([await mailsTo(active), await mailsTo(initial)], [['reset_password'], ['initialise']]);
  });

  it('leads back to the login it came from, and nowhere else', async () => {
    const by = visitor(api);
    assert.match((await by.get('/ui/forgot?login=abc_-9')).text, /href="login\/abc_-9"/);
    assert.match((await by.post('/ui/forgot', { login: 'abc_-9', loginName: 'nobody' })).text, /href="login\/abc_-9"/);
    for (const login of ['', '../x', '//evil.example', '"><b>', 'x'.repeat(101)]) {
      const { text } = await by.get(`/ui/forgot?${new URLSearchParams({ login })}`);
      // The links that it has are those to itself in other languages.
      assert.doesNotMatch(text, /href="(?!\?)|<b>/);
    }
  });

  it('requires a name, and refuses the form of another site', async () => {
    const by = visitor(api);
    const empty = await by.post('/ui/forgot', { loginName: ' ' });
    assert.equal(empty.status, 400);
    assert.match(empty.text, /<title>Problem: Forgot password\?<\/title>/);
    assert.match(empty.text, /aria-invalid="true" aria-describedby="problem"/);
    const forged = await by.post('/ui/forgot', { loginName: 'nobody' }, { origin: 'https://evil.example' });
    assert.equal(forged.status, 403);
  });

  it('is a page also for too many requests, an unknown path or a wrong method', async () => {
    const by = visitor(api);
    const isPage = (text: string) => text.startsWith('<!doctype html>');
    for (let i = 0; i < 12; i++) await by.post('/ui/forgot', {});
    const often = await by.post('/ui/forgot', { loginName: 'nobody' });
    assert.deepEqual([often.status, isPage(often.text)], [429, true]);
    assert.ok(Number(often.headers.get('retry-after')) > 0);
    const missing = await by.get('/ui/nothing');
    assert.deepEqual([missing.status, isPage(missing.text)], [404, true]);
    const response = await fetch(`${api.url}/ui/forgot`, { method: 'PUT' });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, OPTIONS, POST']);
    assert.ok(isPage(await response.text()));
    const broken = await by.get('/ui/login/%ff');
    assert.deepEqual([broken.status, isPage(broken.text)], [400, true]);
  });
});

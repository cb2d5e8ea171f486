import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, addVerified, humanRow, mailCode, unsentMails } from '../../directory/users/people.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
let orgId: string;

before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

async function post(path: string, fields: Record<string, string> | string): Promise<{ status: number; text: string }> {
  const body = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await fetch(api.url + path, { method: 'POST', headers, body });
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  return { status: response.status, text: await response.text() };
}

describe('the pages of mail links', () => {
  it('have headers against leaks, loading and framing', async () => {
    for (const path of ['/ui/verify', '/ui/init']) {
      const response = await fetch(`${api.url}${path}?userId=u&code=c`);
      const policy = response.headers.get('content-security-policy') ?? '';
      const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1];
      assert.equal(
        policy,
        `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      );
      assert.ok((await response.text()).includes(`<style nonce="${nonce}">`));
      assert.equal(response.headers.get('referrer-policy'), 'same-origin');
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    }
  });

  it('put the parameters of the link into the form, escaped', async () => {
    const query = new URLSearchParams({ userId: `"><script>alert(1)</script>`, code: `'&<` });
    const text = await (await fetch(`${api.url}/ui/init?${query}`)).text();
    assert.ok(text.includes('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"'));
    assert.ok(text.includes('value="&#39;&amp;&lt;"'));
    assert.doesNotMatch(text, /<script/);
  });

  it('confirm the address by POST, never by GET', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const { code } = await mailCode(api, userId, 'verify_email');
    for (let i = 0; i < 10; i++) {
      assert.equal((await fetch(`${api.url}/ui/verify?${new URLSearchParams({ userId, code })}`)).status, 200);
    }
    assert.equal((await humanRow(api, userId)).email_verified, false);
    const done = await post('/ui/verify', { userId, code });
    assert.equal(done.status, 200);
    assert.match(done.text, /Email address confirmed/);
    assert.equal((await humanRow(api, userId)).email_verified, true);
  });

  it('set the first password if both fields match', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const differ = await post('/ui/init', { userId, code, password: 'one', repeated: 'two' });
    assert.equal(differ.status, 400);
    assert.match(differ.text, /id="problem">The passwords do not match/);
    assert.doesNotMatch(differ.text, /value="(one|two)"/);
    for (const password of ['', 'x'.repeat(201), 'a\0b']) {
      assert.equal((await post('/ui/init', { userId, code, password, repeated: password })).status, 400);
    }
    const done = await post('/ui/init', { userId, code, password: 'pässwörd', repeated: 'pässwörd' });
    assert.equal(done.status, 200);
    assert.match(done.text, /Your password is set/);
    const row = await humanRow(api, userId);
    assert.deepEqual([row.state, row.email_verified], ['active', true]);
    assert.ok((await api.deps.hasher.verify(row.password_hash ?? '', 'pässwörd')).ok);
  });

  it('are the same for a used code, a wrong code and an unknown user', async () => {
    const userId = await addHuman(api, orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const choice = { password: 'new horse', repeated: 'new horse' };
    await post('/ui/init', { userId, code, ...choice });
    const shown = new Set<string>();
    for (const link of [
      { userId, code },
      { userId, code: 'AAAAAAAAAAAA' },
      { userId: 'nobody', code },
      { userId: 'a\0b', code },
    ]) {
      const { status, text } = await post('/ui/init', { ...link, ...choice });
      assert.equal(status, 400);
      shown.add(text.replace(/<input type="hidden"[^>]*>|href="\?[^"]*"/g, '').replace(/nonce="[^"]*"/, ''));
    }
    assert.equal(shown.size, 1);
    assert.match([...shown][0] as string, /has expired/);
  });

  it('offer a new link where theirs has expired, with the same answer for every user', async () => {
    const [initial, forgotten, unverified, verified] = [
      await addHuman(api, orgId),
      await addVerified(api, orgId, 'old horse'),
      await addHuman(api, orgId, 'old horse'),
      await addVerified(api, orgId, 'old horse'),
    ];
    const expired = await post('/ui/verify', { userId: unverified, code: 'AAAAAAAAAAAA' });
    assert.match(expired.text, /This link has expired/);
    assert.match(expired.text, /action="new-link"[\s\S]*name="action" value="verify"[\s\S]*Send a new one/);
    const shown = new Set<string>();
    for (const [userId, action] of [
      [verified, 'verify'],
      ['nobody', 'init'],
      ['a\0b', 'reset'],
      [initial, 'init'],
      [forgotten, 'reset'],
      [unverified, 'verify'],
    ]) {
      const { status, text } = await post('/ui/new-link', { userId: userId as string, action: action as string });
      assert.equal(status, 200);
      shown.add(text.replace(/nonce="[^"]*"/g, ''));
    }
    assert.equal(shown.size, 1);
    assert.match([...shown][0] as string, /Check your email/);
    const mailed = (userId: string) =>
      waitFor(async () => (await unsentMails(api, userId)).length > 0 && unsentMails(api, userId), {
        what: 'the mail',
      });
    assert.deepEqual(await mailed(unverified), ['verify_email']);
    assert.deepEqual([await mailed(initial), await mailed(forgotten)], [['initialise'], ['reset_password']]);
    assert.deepEqual(await unsentMails(api, verified), []);
  });

  it('show a page for a form that cannot be read', async () => {
    const huge = await post('/ui/init', { password: 'x'.repeat(20_000) });
    assert.equal(huge.status, 413);
    assert.match(huge.text, /Something went wrong/);
    assert.equal((await post('/ui/verify', 'userId=a&userId=b&code=c')).status, 400);
    assert.equal((await post('/ui/verify', '')).status, 400);
  });
});

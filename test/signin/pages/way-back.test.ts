/** Where the page of a link leads after it: back to the sign-in that asked for the link, and to the application. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman } from '../../directory/users/people.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';
import { addClient, hiddenOf, visitor } from './visitor.ts';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

async function mailsTo(userId: string): Promise<string[]> {
  const text = 'select kind from mail_outbox where user_id = $1';
  return (await api.deps.pool.query<{ kind: string }>(text, [userId])).rows.map((row) => row.kind);
}

describe('the way back after a link', () => {
  const open = async () => {
    const by = visitor(api);
    const path = await by.begin(await addClient(api));
    const { token = '' } = hiddenOf(await by.get(path), 'password');
    return { by, path, token };
  };
  const asked = async (userId: string, kind: string) => {
    await waitFor(async () => (await mailsTo(userId)).includes(kind), { what: 'the mail' });
    const text = 'select code_id from mail_outbox where user_id = $1 and kind = $2 order by id desc';
    const { rows } = await api.deps.pool.query(text, [userId, kind]);
    return { userId, code: api.deps.secrets.code(rows[0].code_id, 0) };
  };

  it('takes over the typed name, and leads from a first password to the application, in this browser only', async () => {
    const userId = await addHuman(api, orgId);
    const { by, path, token } = await open();
    const page = await by.post(path, { step: 'password', token, loginName: userId });
    const forgot = /href="\.\.(\/forgot[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const form = await by.get(`/ui${forgot}`);
    assert.ok(form.text.includes(`value="${userId}"`));
    await by.post('/ui/forgot', { login: path.split('/').at(-1) ?? '', loginName: userId });
    const link = await asked(userId, 'initialise');
    const password = 'battery staple';
    const done = await by.post('/ui/init', { ...link, password, repeated: password });
    assert.match(done.text, />Continue</);
    const sent = hiddenOf(done, 'resume');
    const elsewhere = await visitor(api).post(path, sent);
    assert.deepEqual([elsewhere.status, elsewhere.headers.get('location')], [303, 'https://app.example.com/']);
    const back = await by.post(path, sent);
    assert.equal(back.status, 303);
    const final = await by.get(new URL(back.headers.get('location') ?? '').pathname);
    assert.match(final.headers.get('location') ?? '', /^https:\/\/app\.example\.com\/callback\?code=/);
  });

  it('is the well-known address of password managers', async () => {
    const answer = await visitor(api).get('/.well-known/change-password');
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${api.deps.config.baseUrl}/ui/forgot`]);
  });
});

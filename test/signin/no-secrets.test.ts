/** A secret is only in the response that issues it: no table, event, log line or other response has it in clear. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { type Answer, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { codeAt } from '../support/totp.ts';

const lines: string[] = [];
const logger = pino(
  { level: 'trace' },
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
);

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ logger });
  org = await api.setupOrg({ human: { password: 'first-password' } });
});
after(() => api.stop());

/** All rows of all our tables, as text. */
async function everyRow(): Promise<string> {
  const { rows } = await api.deps.pool.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by 1`,
  );
  assert(rows.length > 15, 'the tables were found');
  const texts: string[] = [];
  for (const { name } of rows) {
    const { rows: found } = await api.deps.pool.query<{ row: string }>(
      `select to_jsonb(t)::text as row from ${name} t`,
    );
    texts.push(...found.map((each) => each.row));
  }
  return texts.join('\n');
}

test('secrets are only in the responses that issue them', async () => {
  const secrets = new Map<string, string>([['the first password', 'first-password']]);
  const answers: string[] = [];
  const call = async (method: string, path: string, body?: unknown, token?: string): Promise<Answer['body']> => {
    const answer = await api.call(method, path, body, { orgId: org.orgId, ...(token ? { token } : {}) });
    answers.push(`${JSON.stringify(answer.body)} ${JSON.stringify([...answer.headers])}`);
    return answer.body;
  };
  const keep = (what: string, secret: unknown) => {
    assert(typeof secret === 'string' && secret.length > 5, what);
    secrets.set(what, secret);
  };
  const human = (userId: string) => `/v2beta/users/${userId}`;

  const profile = { givenName: 'Ann', familyName: 'Arbor' };
  const email = { email: 'ann@example.com', returnCode: {} };
  const phone = { phone: '+41791234567', returnCode: {} };
  const password = { password: 'second-password' };
  keep('a password', password.password);
  const made = await call('POST', '/v2beta/users/human', { username: unique('ann'), profile, email, phone, password });
  const { userId } = made;
  keep('a code for an address', made.emailCode);
  keep('a code for a number', made.phoneCode);
  keep(
    'a code for a password',
    (await call('POST', `${human(userId)}/password_reset`, { returnCode: {} })).verificationCode,
  );
  const wrong = { user: { userId }, password: { password: 'mistyped-password' } };
  keep('a wrong password', wrong.password.password);
  await call('POST', '/v2beta/sessions', { checks: wrong });
  const { secret } = await call('POST', `${human(userId)}/totp`);
  keep('a second factor', secret);
  await call('POST', `${human(userId)}/totp/verify`, { code: codeAt(secret) });
  await call('POST', '/v2beta/sessions', { checks: { user: { userId }, password } });
  await call('DELETE', `${human(userId)}/totp`);
  const session = await call('POST', '/v2beta/sessions', { checks: { user: { userId }, password } });
  keep('a session', session.sessionToken);
  keep('a newer password', 'third-password');
  const next = { newPassword: { password: 'third-password' } };
  await call('POST', `${human(userId)}/password`, { ...next, currentPassword: 'mistyped-password' });
  await call('POST', `${human(userId)}/password`, { ...next, verificationCode: 'MISTYPEDCODE' });
  keep('a mistyped code', 'MISTYPEDCODE');
  await call('POST', `${human(userId)}/password`, next);

  keep('an idempotency key', 'customer-4711-part-1');
  const users = { dataOrgs: { orgs: [{ orgId: org.orgId, humanUsers: [{ user: {} }] }] }, timeout: '1m' };
  const headers = { 'idempotency-key': 'customer-4711-part-1' };
  assert.equal((await api.call('POST', '/admin/v1/import', users, { headers })).status, 202);

  const machine = await api.machine(org.orgId, ['ORG_OWNER']);
  keep('a personal access token', machine.token);
  keep('the first token', api.token);
  await call('POST', '/management/v1/users/machine', { userName: unique('m'), name: 'm' }, machine.token);
  const key = await call('POST', `/management/v1/users/${machine.userId}/keys`, {});
  const { key: pem } = JSON.parse(Buffer.from(key.keyDetails, 'base64').toString());
  keep('a key', pem.split('\n')[1]);
  keep('a machine’s secret', (await call('PUT', `/management/v1/users/${machine.userId}/secret`)).clientSecret);
  const client = { name: 'app', redirectUris: ['https://a.example/b'], grantTypes: ['authorization_code'] };
  const registered = await call('POST', '/admin/v1/clients', { ...client, authMethod: 'client_secret_basic' });
  keep('a client’s secret', registered.clientSecret);
  for (const path of ['pats', 'keys']) await call('GET', `/management/v1/users/${machine.userId}/${path}`);
  await call('GET', '/admin/v1/clients');
  await call('GET', human(userId));
  await call('GET', `/v2beta/sessions/${session.sessionId}`);

  assert(lines.length > 15, 'the log was written');
  const kept = `${await everyRow()}\n${lines.join('')}`;
  for (const [what, text] of secrets) {
    assert(!kept.includes(text), `${what} is kept in clear`);
    const told = answers.filter((answer) => answer.includes(text)).length;
    assert(told <= 1, `${what} is told more than once`);
  }
});

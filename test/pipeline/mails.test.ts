/**
 * The mail rule of imports, from HTTP to the wire: which users get a mail, what it contains, and what its link does.
 */
import assert from 'node:assert/strict';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { entry, HASH } from '../support/imports/imports.ts';
import { assertEachOnce, mailsByAddress } from '../support/imports/outcome.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { urlsIn } from '../support/smtp.ts';
import { waitFor } from '../support/wait.ts';

const PLAIN = 'plain enough';
const CREDENTIALS = { none: {}, hash: { hashedPassword: { value: HASH } }, plain: { password: PLAIN } } as const;
type Credential = keyof typeof CREDENTIALS;
type Kind = 'verify' | 'init' | undefined;

interface Case {
  name: string;
  verified: boolean | undefined;
  credential: Credential;
  state: string | undefined;
}

const CASES: Case[] = [true, false, undefined].flatMap((verified) =>
  (Object.keys(CREDENTIALS) as Credential[]).flatMap((credential) =>
    [undefined, 'ACTIVE', 'INACTIVE', 'LOCKED'].map((state) => ({
      name: `${credential}-${verified}-${state}`.toLowerCase(),
      verified,
      credential,
      state,
    })),
  ),
);

/** Contract section 4, "Mail rule of imports". */
function mailOf({ verified, credential, state }: Case): Kind {
  if (state === 'INACTIVE' || state === 'LOCKED') return undefined;
  if (credential === 'none') return 'init';
  return verified ? undefined : 'verify';
}

function stateOf({ credential, state }: Case): string {
  if (state === 'INACTIVE' || state === 'LOCKED') return `USER_STATE_${state}`;
  return credential === 'none' ? 'USER_STATE_INITIAL' : 'USER_STATE_ACTIVE';
}

function toEntry({ name, verified, credential, state }: Case) {
  const email = { email: `${name}@example.com`, ...(verified === undefined ? {} : { isEmailVerified: verified }) };
  const user = { email, hashedPassword: undefined, ...CREDENTIALS[credential] };
  return { ...entry(name, user, state ? { state: `USER_STATE_${state}` } : {}), userId: idOf(name) };
}

/** A user id with a special character, as in some migrations; it must survive the link, its page and a path. */
function idOf(name: string): string {
  return `auth0|${name}`;
}

function pathOf(name: string): string {
  return `/v2beta/users/${encodeURIComponent(idOf(name))}`;
}

onEachBackend('the mails of an import', async (t, backend) => {
  const service = await startService(t, { backend });
  const org = await service.newOrg();
  const due = CASES.filter(mailOf);
  const { importId } = await service.imported(bulk(org.orgId, CASES.map(toEntry)));

  await t.test('are sent exactly where one is due, one each', async () => {
    await assertEachOnce(service, importId, { users: CASES.length, mails: due.length });
    const expected = new Map(due.map(({ name }) => [`${name}@example.com`, 1]));
    assert.deepEqual(new Map([...mailsByAddress(service)].sort()), new Map([...expected].sort()));
    await waitFor(async () => (await service.depth('mails')) === 0, { what: 'the jobs of the mails to end' });
  });

  await t.test('leave each user in the state that the rule requires', async () => {
    for (const one of CASES) {
      const { body } = await must(service.call('GET', pathOf(one.name)));
      assert.equal(body.user.state, stateOf(one), one.name);
      assert.equal(body.user.human.email.isVerified, one.verified ?? false, one.name);
    }
  });

  await t.test('contain one URL, to the page of their kind, with userId and code', async () => {
    for (const one of due) {
      const url = await linkOf(service, `${one.name}@example.com`);
      assert.equal(url.origin, service.url);
      assert.equal(url.pathname, mailOf(one) === 'init' ? '/ui/init' : '/ui/verify');
      assert.deepEqual([...url.searchParams.keys()].sort(), ['code', 'userId']);
      assert.equal(url.searchParams.get('userId'), idOf(one.name));
    }
  });

  await t.test('contain nothing remote in their HTML', async () => {
    for (const mail of service.smtp.mails) {
      const { html } = await mail.parsed();
      assert.ok(html?.includes('/ui/'));
      assert.doesNotMatch(html ?? '', /<(?:img|script|link|iframe|object|embed)\b|url\(|@import|src=/i);
    }
  });

  await t.test('let an unverified user log in before using the link, and verify with it once', async () => {
    for (const credential of ['hash', 'plain'] as const) {
      const name = `${credential}-false-undefined`;
      assert.equal((await service.login(name, credential === 'hash' ? OLD_PASSWORD : PLAIN)).status, 201);
      const link = await linkOf(service, `${name}@example.com`);
      const { status, text } = await submit(link);
      assert.equal(status, 200, text);
      const { body } = await service.call('GET', pathOf(name));
      assert.deepEqual([body.user.state, body.user.human.email.isVerified], ['USER_STATE_ACTIVE', true]);
      assert.equal((await submit(link)).status, 400);
    }
  });

  await t.test('let a user without a password choose one, and then log in', async () => {
    for (const verified of [true, false]) {
      const name = `none-${verified}-undefined`;
      assert.equal((await service.login(name, 'my first')).status, 400);
      const link = await linkOf(service, `${name}@example.com`);
      const { status, text } = await submit(link, { password: 'my first', repeated: 'my first' });
      assert.equal(status, 200, text);
      const { body } = await service.call('GET', pathOf(name));
      assert.deepEqual([body.user.state, body.user.human.email.isVerified], ['USER_STATE_ACTIVE', true]);
      assert.equal((await service.login(name, 'my first')).status, 201);
      assert.equal((await submit(link, { password: 'other', repeated: 'other' })).status, 400);
    }
  });

  await t.test('contain codes that the API accepts as well', async () => {
    const one = (await linkOf(service, 'hash-undefined-active@example.com')).searchParams.get('code');
    const verify = { verificationCode: one };
    const path = `${pathOf('hash-undefined-active')}/email/verify`;
    assert.equal((await service.call('POST', path, { verificationCode: 'AAAAAAAAAAAA' })).status, 400);
    assert.equal((await service.call('POST', path, verify)).status, 200);
    const code = (await linkOf(service, 'none-undefined-active@example.com')).searchParams.get('code');
    const choice = { newPassword: { password: 'by the API' }, verificationCode: code };
    const password = `${pathOf('none-undefined-active')}/password`;
    assert.equal((await service.call('POST', password, choice, { token: null })).status, 200);
    assert.equal((await service.login('none-undefined-active', 'by the API')).status, 201);
  });

  await t.test('do not increase in number, whatever users did with them', async () => {
    assert.equal(service.smtp.mails.length, due.length);
    const { rows } = await service.pool.query('select count(*)::int as n from mail_outbox');
    assert.equal(rows[0].n, due.length);
  });
});

/** The only URL in the text of the only mail to an address. */
async function linkOf(service: Service, address: string): Promise<URL> {
  const mails = service.smtp.mails.filter((m) => m.to.includes(address));
  assert.equal(mails.length, 1, address);
  const text = (await mails[0]?.parsed())?.text;
  const urls = urlsIn(text ?? '');
  assert.equal(urls.length, 1, text);
  return urls[0] as URL;
}

/** Opens the link's page, fills in its form and sends it, as a browser would. */
async function submit(link: URL, fields: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const page = await fetch(link);
  assert.equal(page.status, 200);
  const text = await page.text();
  const action = /<form method="post" action="([^"]+)"/.exec(text)?.[1];
  assert.ok(action, text);
  const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const form = new URLSearchParams({ ...Object.fromEntries(hidden.map(([, k, v]) => [k, v])), ...fields });
  const answer = await fetch(new URL(action, link), { method: 'POST', body: form });
  return { status: answer.status, text: await answer.text() };
}

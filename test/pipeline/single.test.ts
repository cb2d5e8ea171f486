/** The import of one user: 200 means that the user exists, 504 that they never will. */
import assert from 'node:assert/strict';
import { badFieldsOf } from '../support/answers.ts';
import { bulk, OLD_PASSWORD, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { rowCounts } from '../support/imports/outcome.ts';
import type { TestProcess } from '../support/processes/child.ts';
import { must, onEachBackend, type ServiceCall, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const PATH = '/management/v1/users/human/_import';
const TIMEOUT_MS = 700;

onEachBackend('a single import', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0, env: { SINGLE_IMPORT_TIMEOUT_MS: String(TIMEOUT_MS) } });
  const first = service.url;
  const org = await service.newOrg();
  const send = (user: unknown, options: ServiceCall = {}) =>
    service.call('POST', PATH, user, { orgId: org.orgId, ...options });

  let worker: TestProcess | undefined;

  await t.test('answers 504 at its timeout when no worker runs, and the user never appears', async () => {
    const before = await rowCounts(service.pool);
    const start = performance.now();
    const lates = await Promise.all(['late1', 'late2'].map((name) => send(entry(name).user)));
    const took = performance.now() - start;
    for (const { status, body } of lates) assert.deepEqual([status, body.code], [504, 4]);
    // The server's own default would be 30 s.
    assert.ok(took >= TIMEOUT_MS && took < TIMEOUT_MS + 20_000, `${took} ms`);

    await service.startApi({ SINGLE_IMPORT_TIMEOUT_MS: '60000' });
    worker = await service.startWorker();
    const { body } = await must(service.importBody(bulk(org.orgId, people('control', 3))));
    await service.waitForEnd(body.importId);
    await waitFor(async () => (await service.depth()) === 0, { what: 'the jobs to be processed' });
    const after = await rowCounts(service.pool);
    assert.equal(after.users, (before.users ?? 0) + 3);
    assert.equal(after.mail_outbox, before.mail_outbox);
    assert.equal((await service.login('late1', OLD_PASSWORD)).status, 400);
  });

  await t.test('can be sent again after that', async () => {
    const { status } = await send(entry('late1').user);
    assert.equal(status, 200);
  });

  await t.test('takes a pepper, stores it encrypted, and never repeats it', async () => {
    // By libxcrypt, of `correct horse` and then the pepper.
    const value = '$2b$04$abcdefghijklmnopqrstuu.kQv/P7qe9hj9n4VXXGiB6LKdwQKpP.';
    const pepper = Buffer.from('a pepper of the shöp').toString('base64');
    const { user } = entry('peppered', { hashedPassword: { value } });
    const headers = { 'password-pepper': pepper, 'idempotency-key': 'with-a-pepper' };
    const answer = await send(user, { headers });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((await send(user, { headers })).status, 200, 'repeated');
    const other = { ...headers, 'password-pepper': Buffer.from('another').toString('base64') };
    assert.equal((await send(user, { headers: other })).status, 409);
    const { rows } = await service.pool.query(
      `select p.sealed from import_peppers p join users u on split_part(u.password_hash, '$', 3) = p.import_id::text
       where u.id = $1`,
      [answer.body.userId],
    );
    assert.equal(rows.length, 1);
    assert.ok(!rows[0].sealed.includes(pepper));
    assert.equal((await service.login('peppered', 'correct horsE')).status, 400);
    assert.equal((await service.login('peppered', 'correct horse')).status, 201);

    const plain = await send(
      { ...user, userName: 'unpeppered', userId: undefined, hashedPassword: undefined },
      { headers: { 'password-pepper': pepper } },
    );
    assert.equal(plain.status, 200, JSON.stringify(plain.body));
    assert.equal((await service.pool.query('select from import_peppers')).rowCount, 1, 'none without a hash');

    const bad = await send(user, { headers: { 'password-pepper': 'topsecret!' } });
    assert.deepEqual([bad.status, badFieldsOf(bad)], [400, ['Password-Pepper']]);
    assert.doesNotMatch(JSON.stringify(bad.body), /topsecret/);
  });

  await t.test('survives the loss of its job by the queue', async () => {
    worker?.kill('SIGTERM');
    await worker?.exited;
    const answer = send(entry('forgotten').user);
    await waitFor(async () => (await service.depth()) === 1, { what: 'the job' });
    await service.loseJobs();
    assert.equal(await service.depth(), 0);
    await service.startWorker();
    assert.equal((await answer).status, 200);
  });

  await t.test('answers when the user is readable on another process and can log in', async () => {
    for (let i = 0; i < 10; i++) {
      const { status, body } = await send(entry(`one${i}`).user, { token: org.ownerToken });
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(Object.keys(body).sort(), ['details', 'userId']);
      assert.equal(body.details.resourceOwner, org.orgId);
      const got = await service.call('GET', `/v2beta/users/${body.userId}`, undefined, { url: first });
      assert.equal(got.status, 200);
      assert.equal(got.body.user.username, `one${i}`);
      assert.equal(got.body.details.sequence, body.details.sequence);
      assert.equal((await service.login({ userId: body.userId }, OLD_PASSWORD, { url: first })).status, 201);
    }
  });

  await t.test('handles many requests at once', async () => {
    const answers = await Promise.all(people('crowd', 40).map(({ user }) => send(user)));
    assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([200]));
    assert.equal(new Set(answers.map((a) => a.body.userId)).size, 40);
  });

  await t.test('is answered 409 for exactly one of two equal users', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => send(entry('twin').user)));
    assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409]);
    const again = await send(entry('TWIN').user);
    assert.deepEqual([again.status, again.body.code], [409, 6]);
  });

  await t.test('names every invalid field, and writes nothing', async () => {
    const before = await rowCounts(service.pool);
    const user = {
      profile: { firstName: '', gender: 'x' },
      email: { email: 'Ann <ann@example.com>' },
      hashedPassword: { value: 'crypt' },
      metadata: [{ key: 'k', value: '*' }],
      otpCode: '123',
    };
    const bad = await send(user);
    assert.deepEqual([bad.status, bad.body.code], [400, 3]);
    assert.deepEqual(badFieldsOf(bad), [
      'email.email',
      'hashedPassword.value',
      'metadata[0].value',
      'otpCode',
      'profile.firstName',
      'profile.gender',
      'profile.lastName',
    ]);
    const hash = await send({ ...entry('x').user, hashedPassword: { value: 'crypt' } });
    assert.deepEqual(badFieldsOf(hash), ['hashedPassword.value']);
    for (const body of [[], 'null', '"ann"', '{', '']) assert.equal((await send(body)).status, 400);
    assert.equal((await send('a=b', { headers: { 'content-type': 'text/plain' } })).status, 415);
    assert.deepEqual(await rowCounts(service.pool), before);
  });

  await t.test('is for owners of the organization', async () => {
    const other = await service.newOrg();
    const viewer = await service.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    const manager = await service.machine(org.orgId, ['ORG_USER_MANAGER']);
    for (const [token, orgId, status] of [
      [null, org.orgId, 401],
      [viewer.token, org.orgId, 403],
      [manager.token, org.orgId, 403],
      [other.ownerToken, org.orgId, 403],
      [other.ownerToken, 'nowhere', 403],
      [service.token, 'nowhere', 404],
    ] as const) {
      assert.equal((await send(entry('nobody').user, { token, orgId })).status, status);
    }
    // Without the header it is the caller's own organization.
    const own = await service.call('POST', PATH, entry('own').user, { token: other.ownerToken });
    assert.equal(own.body.details.resourceOwner, other.orgId);
  });

  await t.test('sends its mail by the same rule, and does not appear in the list of imports', async () => {
    const sent = service.smtp.mails.length;
    await must(send(entry('quiet').user));
    await must(send(entry('mailed', { email: { email: 'mailed@example.com' } }).user));
    await waitFor(() => service.smtp.mails.length > sent, { what: 'the mail' });
    await waitFor(async () => (await service.depth('mails')) === 0, { what: 'the mail to be settled' });
    assert.deepEqual(
      service.smtp.mails.slice(sent).map((m) => m.to),
      [['mailed@example.com']],
    );
    assert.equal((await service.call('GET', '/admin/v1/imports')).body.imports.length, 1);
  });

  await t.test('warns of unknown fields', async () => {
    const { status, body } = await send({ ...entry('warned').user, shoe_size: 42 });
    assert.equal(status, 200);
    assert.deepEqual(
      body.warnings.map((w: { path: string }) => w.path),
      ['shoe_size'],
    );
  });
});

/** ENCRYPTION_KEY is lost: what `muster keys lost` lists and gives up, and who gets in afterwards, and who does not. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { runMuster } from '../support/processes/muster.ts';
import { must, onOneBackend, type Service, startService } from '../support/processes/service.ts';
import { codeAt } from '../support/totp.ts';

const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');
const TOTP = 'JBSWY3DPEHPK3PXP';

async function stopAll({ processes, pool }: Service): Promise<void> {
  const living = processes.filter(({ isOver }) => !isOver);
  for (const each of living) each.kill('SIGTERM');
  await Promise.all(living.map(({ exited }) => exited));
  // As the restart of a pooler does, which keeps connections of processes that are gone.
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'muster-%'`);
}

/** Users with and without a factor, and a value of every other kind that is encrypted. */
async function fill(service: Service, orgId: string): Promise<{ importId: string; draftId: string; idpId: string }> {
  const { call, importBody } = service;
  const people = [
    entry('ann', { otpCode: TOTP }),
    entry('ben', { otpCode: TOTP }),
    entry('cat'),
    entry('own', { otpCode: TOTP }),
  ];
  await service.imported(bulk(orgId, people));
  const headers = { 'password-pepper': btoa('sea salt') };
  const peppered = (await must(importBody(bulk(orgId, [entry('dan')]), { headers }))).body.importId;
  await service.waitForEnd(peppered);
  await must(call('POST', '/admin/v1/members', { userId: 'id-own', roles: ['IAM_OWNER'] }));
  await must(call('PUT', '/management/v1/orgs/me/webhook_secret', {}, { orgId }));
  const source = { name: 'Old', kind: 'http', settings: { url: 'https://old.example.com' } };
  await must(call('POST', '/management/v1/password_sources', source, { orgId }));
  const google = { type: 'google', clientId: 'c', clientSecret: 's' };
  const { idpId } = (await must(call('POST', '/management/v1/idps', google, { orgId }))).body;
  const draftId = (await must(call('POST', '/admin/v1/imports', {}))).body.importId;
  const metadata = `filename ${btoa('people.csv')},kind ${btoa('users')}`;
  const tus = { 'tus-resumable': '1.0.0', 'upload-length': '40', 'upload-metadata': metadata };
  await must(call('POST', `/admin/v1/imports/${draftId}/files`, undefined, { headers: tus }));
  await service.processes.at(-1)?.kill('SIGTERM');
  await service.processes.at(-1)?.exited;
  const waiting = [
    entry('eve', { hashedPassword: undefined, password: 'a plain one' }),
    entry('fay', { otpCode: TOTP }),
    entry('gus'),
    entry('bad', { profile: {} }),
  ];
  const { importId } = (await must(importBody(bulk(orgId, waiting)))).body;
  return { importId, draftId, idpId };
}

onOneBackend('a lost encryption key', async (t, backend) => {
  const service = await startService(t, { backend, env: { ENCRYPTION_KEY: OLD, LOGIN_DELAY_MS: '0' } });
  const { call, pool } = service;
  const { orgId } = await service.newOrg();
  const { importId, draftId, idpId } = await fill(service, orgId);
  const env = { DATABASE_URL: service.databaseUrl, ENCRYPTION_KEY: NEW };
  const lost = (...args: string[]) => runMuster(['keys', 'lost', ...args], { env });

  const busy = await lost('--yes');
  assert.deepEqual([busy.code, busy.stdout], [2, '']);
  assert.match(busy.stderr, /Processes of the service are connected to the database: muster-api, /);
  await stopAll(service);

  const listed = await lost();
  assert.equal(listed.code, 1, listed.stderr);
  for (const line of [
    /^second factors +3 +no code is right until the factor is removed +id-ann, id-ben, id-own$/m,
    /^signing keys +\d /m,
    /^password sources +1 /m,
    new RegExp(`^identity providers +1 .* ${idpId}$`, 'm'),
    new RegExp(`^webhook secrets +1 .* ${orgId}$`, 'm'),
    /^passwords with a pepper +1 /m,
    new RegExp(`^users to be imported +2 .* import ${importId}$`, 'm'),
    /^data of failed users +1 /m,
    new RegExp(`^drafts of imports +1 +discarded +${draftId}$`, 'm'),
    /IAM_OWNERs who cannot sign in then: id-own\./,
    /Nothing was changed\./,
  ]) {
    assert.match(listed.stdout, line);
  }
  assert.match((await lost('--yes', '--remove-factor', 'id-cat')).stderr, /second factor of id-cat is not lost/);
  assert.deepEqual((await lost()).stdout, listed.stdout, 'until then nothing has changed');

  const done = await lost('--yes', '--remove-factor', 'id-ben');
  assert.equal(done.code, 0, done.stderr);
  const again = await lost('--yes');
  assert.deepEqual([again.code, again.stdout], [0, 'Nothing is lost: every stored value can be decrypted.\n']);

  await service.startApi({ ENCRYPTION_KEY: NEW });
  await service.startWorker({ ENCRYPTION_KEY: NEW });
  const login = async (name: string, code?: string) => {
    const totp = code === undefined ? {} : { totp: { code } };
    const checks = { user: { userId: `id-${name}` }, password: { password: OLD_PASSWORD }, ...totp };
    const { status, body } = await call('POST', '/v2beta/sessions', { checks });
    return status === 201 ? 201 : body.details[0].id;
  };
  assert.equal(await login('cat'), 201, 'the password is enough where it was before');
  assert.equal(await login('ben'), 201, 'the operator has removed this factor');
  assert.equal(await login('ann'), 'SESSION-TOTP-REQUIRED');
  assert.equal(await login('ann', codeAt(TOTP)), 'SESSION-TOTP');
  assert.equal(await login('own', codeAt(TOTP)), 'SESSION-TOTP');
  assert.equal(await login('dan'), 'SESSION-CREDENTIALS', 'the pepper is gone');
  await must(call('POST', '/v2beta/users/id-dan/password', { newPassword: { password: 'another horse 7' } }));
  assert.equal((await service.login({ userId: 'id-dan' }, 'another horse 7')).status, 201);
  await must(call('DELETE', '/v2beta/users/id-ann/totp'));
  assert.equal(await login('ann'), 201);

  const { idp } = (await must(call('GET', `/management/v1/idps/${idpId}`))).body;
  assert.deepEqual([idp.hasSecret, idp.isEnabled], [false, false], 'nobody signs in by it without its secret');

  const ended = await service.waitForEnd(importId);
  assert.deepEqual(
    [ended.state, ended.counts.succeeded, ended.counts.failed],
    ['IMPORT_STATE_COMPLETED_WITH_ERRORS', 1, 3],
  );
  assert.equal(await login('gus'), 201);
  for (const name of ['eve', 'fay']) assert.equal(await login(name), 'SESSION-CREDENTIALS', 'was not written');
  const { rows } = await pool.query(
    `select error->'details'->0->>'id' as id from import_items
    where import_id = $1 and state = 'failed' order by ordinal`,
    [importId],
  );
  assert.deepEqual(
    rows.slice(0, 2).map(({ id }) => id),
    ['IMPORT-KEY-LOST', 'IMPORT-KEY-LOST'],
  );
  assert.equal(
    (await call('POST', `/admin/v1/imports/${importId}/_retry`, {})).status,
    200,
    'nothing is left to retry',
  );
  assert.equal((await call('GET', `/admin/v1/imports/${importId}/report?format=dataorgs`)).status, 200);

  const types = async (...wanted: string[]) =>
    (await must(call('POST', '/admin/v1/events/_search', { types: wanted, asc: true }))).body.result;
  const [key] = await types('instance.encryption_key.lost');
  assert.deepEqual([key.actor.kind, key.payload.secondFactors, key.payload.factorsRemoved], ['system', 3, 1]);
  const factors = await types('user.human.totp.lost', 'user.human.totp.removed');
  assert.deepEqual(
    factors.map((event: { type: string; userId: string }) => [event.type, event.userId]),
    [
      ['user.human.totp.lost', 'id-ann'],
      ['user.human.totp.removed', 'id-ben'],
      ['user.human.totp.lost', 'id-own'],
      ['user.human.totp.removed', 'id-ann'],
    ],
  );
  const only = await runMuster(['keys', 'status'], { env });
  assert.match(only.stdout, /Only ENCRYPTION_KEY is needed\./);
});

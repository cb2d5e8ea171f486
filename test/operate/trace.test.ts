/** One trace from the request of an import to its mails, as a collector receives it from API and workers. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { entry, HASH } from '../support/imports/imports.ts';
import { startCollector } from '../support/otlp/collector.ts';
import type { ReceivedSpan } from '../support/otlp/spans.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';

const IMPORT = 'POST /admin/v1/import';
const SINGLE = 'POST /management/v1/users/human/_import';
const SIGN_IN = 'POST /v2beta/sessions';
const PLAIN = 'a plain password';

/** The header of a caller that has a trace of its own. */
function newCaller(flags: '00' | '01' = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

onEachBackend('a trace', async (t, backend) => {
  const collector = await startCollector();
  const receiver = await startReceiver();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
  const onStopped = async () => void (await Promise.all([collector.stop(), receiver.stop()]));
  const service = await startService(t, { backend, env, onStopped });
  const org = await service.newOrg();
  const token = org.ownerToken;
  await must(service.call('PUT', '/management/v1/orgs/me/webhook_secret', {}, { token }));
  const query = `?webhook=${encodeURIComponent(receiver.url)}`;

  /** The spans of a trace, once it has one of each of these names. */
  async function traced(traceId: string, ...names: string[]): Promise<ReceivedSpan[]> {
    const spans = () => collector.spans.filter((span) => span.traceId === traceId);
    const missing = () => names.filter((name) => !spans().some((span) => span.name === name));
    await waitFor(() => missing().length === 0, { what: `spans in ${names}` }).catch((error) => {
      throw new Error(`missing: ${missing()}; there are: ${spans().map((span) => span.name)}`, { cause: error });
    });
    return spans();
  }
  const linesOfLogs = () => service.processes.flatMap((one) => one.output().split('\n'));
  const named = (spans: ReceivedSpan[], name: string) => spans.find((span) => span.name === name) as ReceivedSpan;

  await t.test(
    'leads from the request of the caller through COPY, dispatch and batch to mail and webhook',
    async () => {
      const unsampled = newCaller('00');
      const quiet = await must(service.importBody(bulk(org.orgId, [entry('quiet')]), { token, ...unsampled }));
      await service.waitForEnd(quiet.body.importId);

      const caller = newCaller();
      const users = [
        entry('hashed'),
        entry('mailed', { email: { email: 'mailed@example.com' } }),
        entry('plain', { hashedPassword: undefined, password: PLAIN }),
      ];
      const { body } = await must(service.importBody(bulk(org.orgId, users), { token, query, ...caller }));
      const of = { accepted: ['import.receive', 'import.copy', 'import.accept'], sent: ['mail.send', 'webhook.send'] };
      const run = ['import.dispatch', 'import.batch', 'import.hash'];
      const spans = await traced(caller.traceId, IMPORT, ...of.accepted, ...run, ...of.sent);

      const [request, receive] = [named(spans, IMPORT), named(spans, 'import.receive')];
      assert.deepEqual([request.parentId, request.kind, request.service], [caller.spanId, 'server', 'muster-api']);
      assert.equal(request.attributes['http.response.status_code'], 202);
      assert.equal(receive.parentId, request.spanId);
      for (const name of ['import.copy', 'import.accept', ...run, ...of.sent]) {
        const span = named(spans, name);
        assert.equal(span.parentId, receive.spanId, name);
        assert.equal(span.service, of.accepted.includes(name) ? 'muster-api' : 'muster-worker', name);
        assert.equal(span.failed, false, name);
        if (span.service === 'muster-worker') assert.equal(span.attributes['muster.import.id'], body.importId, name);
      }
      assert.equal(named(spans, 'import.dispatch').attributes['muster.users'], users.length);
      assert.equal(named(spans, 'mail.send').attributes['muster.outcome'], 'sent');
      assert.equal(named(spans, 'import.run').attributes['muster.import.state'], 'succeeded');

      const quietIds = collector.spans.filter((span) => span.traceId === unsampled.traceId);
      assert.deepEqual(quietIds, [], 'the caller did not want a trace of it');
    },
  );

  await t.test('names the request in the log', async () => {
    const caller = newCaller();
    await must(service.call('GET', '/admin/v1/imports', undefined, caller));
    const [request] = await traced(caller.traceId, 'GET /admin/v1/imports');
    const line = await waitFor(() => linesOfLogs().find((one) => one.includes(caller.traceId)), { what: 'the line' });
    const { msg, trace_id: traceId, span_id: spanId } = JSON.parse(line);
    assert.deepEqual([msg, traceId, spanId], ['request', caller.traceId, request?.spanId]);
  });

  await t.test('of an import is named in the log of its worker', async () => {
    const caller = newCaller();
    receiver.answer(500);
    await must(service.importBody(bulk(org.orgId, [entry('logged')]), { token, query, ...caller }));
    const isRefused = (line: string) => line.includes('webhook delivery failed');
    const line = await waitFor(() => linesOfLogs().find(isRefused), { what: 'the line' });
    const { trace_id: traceId, span_id: spanId } = JSON.parse(line);
    const spans = await traced(caller.traceId, 'webhook.send');
    assert.deepEqual([traceId, spanId], [caller.traceId, named(spans, 'webhook.send').spanId]);
  });

  await t.test('has a single import, its dispatch and its batch', async () => {
    const caller = newCaller();
    await must(service.call('POST', '/management/v1/users/human/_import', entry('single').user, { token, ...caller }));
    const spans = await traced(caller.traceId, SINGLE, 'import.dispatch', 'import.batch');
    for (const name of ['import.dispatch', 'import.batch'])
      assert.equal(named(spans, name).parentId, named(spans, SINGLE).spanId, name);
  });

  await t.test('tells how a sign-in ended, and how long the check of the password took', async () => {
    const [right, wrong] = [newCaller(), newCaller()];
    assert.equal((await service.login('hashed', OLD_PASSWORD, right)).status, 201);
    assert.equal((await service.login('hashed', 'a wrong password', wrong)).status, 400);
    for (const [caller, outcome] of [
      [right, 'succeeded'],
      [wrong, 'wrong_password'],
    ] as const) {
      const spans = await traced(caller.traceId, SIGN_IN, 'password.verify');
      assert.equal(named(spans, SIGN_IN).attributes['muster.outcome'], outcome);
      assert.equal(named(spans, 'password.verify').parentId, named(spans, SIGN_IN).spanId);
    }
  });

  await t.test('contains no secret and no personal data', async () => {
    const caller = newCaller();
    const search = '/admin/v1/imports/12345?state=hidden-query';
    await service.call('GET', search, undefined, { token, ...caller });
    await traced(caller.traceId, 'GET /admin/v1/imports/:importId');
    const text = collector.text();
    assert.ok(text.includes('/admin/v1/imports/:importId'), 'the bodies can be searched');
    const secrets = [token, service.token, PLAIN, 'a wrong password', HASH, 'hidden-query'];
    for (const secret of [...secrets, 'example.com', 'Arbor', 'id-hashed', receiver.url])
      assert.ok(!text.includes(secret), secret);
  });
});

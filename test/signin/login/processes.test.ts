/** Several API processes share the counts of failed logins. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCalls } from '../../support/calls.ts';
import { startService } from '../../support/processes/service.ts';

test('two API processes share the counts, also of parallel attempts', async (t) => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0' };
  const service = await startService(t, { backend: 'postgres', workers: 0, env });
  await service.startApi();
  const apis = service.apis.map(({ url }) => openCalls(() => url, service.token));
  const checks = { user: { userId: 'nobody' }, password: { password: 'wrong' } };
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => apis[i % 2]?.call('POST', '/v2beta/sessions', { checks })),
  );
  const ids = answers.map((answer) => answer?.body.details[0].id);
  const times = (id: string) => ids.filter((one) => one === id).length;
  assert.deepEqual([times('SESSION-CREDENTIALS'), times('SESSION-FAILURES')], [10, 20]);
});

/**
 * The API, its workers and a mail server in this process. Its own hashes cost little, so that the many refusals of these
 * tests do: each takes as long as the check of such a hash.
 */
import type { TestContext } from 'node:test';
import type { Pool } from '../../src/platform/db/pool.ts';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startMailer } from '../../workers/mailer.ts';
import { startApi } from '../support/api.ts';
import { type Calls, must, openCalls } from '../support/calls.ts';
import { type SmtpCatcher, startSmtp } from '../support/smtp.ts';

export interface Stage extends Calls {
  url: string;
  pool: Pool;
  smtp: SmtpCatcher;
}

/** Without limits of calls and mails; it stops with the test. */
export async function openStage(t: TestContext): Promise<Stage> {
  const smtp = await startSmtp();
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MAILS: '0' };
  const { deps, url, token, stop } = await startApi({ env: { ...env, SMTP_URL: smtp.url } });
  const workers = [startConverter(deps), startImportWorker(deps), startDispatcher(deps), startMailer(deps)];
  t.after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await stop();
    await smtp.stop();
  });
  return { ...openCalls(() => url, token), url, pool: deps.pool, smtp };
}

/** Sets fields of an organization's login policy. */
export async function setLoginPolicy({ call }: Pick<Calls, 'call'>, orgId: string, policy: object): Promise<void> {
  await must(call('PUT', '/management/v1/policies/login', policy, { orgId }));
}

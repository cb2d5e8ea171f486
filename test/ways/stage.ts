/**
 * The API, its workers and a mail server in this process. Its own hashes cost little, so that the many refusals of these
 * tests do: each takes as long as the check of such a hash.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Pool } from '../../src/platform/db/pool.ts';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startMailer } from '../../workers/mailer.ts';
import { type ApiOptions, startApi, type TestApi } from '../support/api.ts';
import { type Calls, must, openCalls } from '../support/calls.ts';
import type { SmsGateway } from '../support/sms.ts';
import { type SmtpCatcher, startSmtp } from '../support/smtp.ts';
import { AT_SOURCE } from './cases.ts';

export interface Stage extends Calls {
  url: string;
  api: TestApi;
  /** A password source, at which everybody has the password `AT_SOURCE`. */
  sourceUrl: string;
  pool: Pool;
  smtp: SmtpCatcher;
  /** The gateway that `SMS_URL` names, if the test has one. */
  texts?: SmsGateway;
}

/** Without limits of calls and mails; it stops with the test. @param settings further ones @param more of the API */
export async function openStage(
  t: TestContext,
  settings: Record<string, string> = {},
  more: Pick<ApiOptions, 'host'> = {},
): Promise<Stage> {
  const [smtp, source] = await Promise.all([startSmtp(), startSource()]);
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MAILS: '0' };
  const sources = { PASSWORD_SOURCE_ALLOW_PRIVATE: 'true', SMTP_URL: smtp.url };
  const api = await startApi({ env: { ...env, ...sources, ...settings }, ...more });
  const { deps, url, token } = api;
  const workers = [startConverter(deps), startImportWorker(deps), startDispatcher(deps), startMailer(deps)];
  t.after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await api.stop();
    await smtp.stop();
    source.close();
    source.closeAllConnections();
  });
  return { ...openCalls(() => url, token), url, api, sourceUrl: urlOf(source), pool: deps.pool, smtp };
}

/** Sets fields of an organization's login policy. */
export async function setLoginPolicy({ call }: Pick<Calls, 'call'>, orgId: string, policy: object): Promise<void> {
  await must(call('PUT', '/management/v1/policies/login', policy, { orgId }));
}

/** An HTTP password source; see docs/password-sources.md. */
async function startSource(): Promise<Server> {
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const isRight = JSON.parse(body).password === AT_SOURCE;
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ valid: isRight }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

/** Adds the password source to the organization; returns its id. */
export async function addPasswordSource({ call, sourceUrl }: Stage, orgId: string): Promise<string> {
  const body = { name: 'Old', kind: 'http', settings: { url: sourceUrl } };
  return (await must(call('POST', '/management/v1/password_sources', body, { orgId }))).body.sourceId;
}

/** The screen of the service's state: what `muster doctor` and `muster workers` report, for an IAM_OWNER. */
import { Router } from 'express';
import type { Diagnostics, WorkerView } from '../contract/diagnostics.ts';
import type { Finding } from '../contract/finding.ts';
import { checkService } from '../contract/findings.ts';
import { requirePermission } from '../contract/permissions.ts';
import { type Html, html } from '../platform/text/html.ts';
import { type WebhookFacts, webhookFacts } from './database.ts';
import type { ScreenDeps } from './deps.ts';
import { sessionOf } from './session.ts';
import { count, duration, type Fact, facts, headline, numbers, state, table, time } from './shell/blocks.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { ADMINISTRATORS } from './texts/administrators.ts';
import { BRANDING } from './texts/branding.ts';
import { sizeText } from './texts/language.ts';
import { LOGIN_POLICY } from './texts/organizations.ts';
import { PROVIDERS } from './texts/providers.ts';
import { FINDING_STATES, SYSTEM } from './texts/system.ts';

export function systemScreens({ consoleUrl, pool, show }: ScreenDeps): Router {
  const router = Router();
  router.get('/console/system', async (req, res) => {
    const { api, caller } = sessionOf(res);
    requirePermission(caller, 'getDiagnostics');
    const [diagnostics, workers, webhooks] = await Promise.all([
      api.call('getDiagnostics'),
      api.call('listWorkers'),
      webhookFacts(pool),
    ]);
    const page = {
      diagnostics,
      findings: checkService(diagnostics),
      workers: workers.result,
      webhooks,
      readAt: new Date(),
    };
    show(req, res, { title: SYSTEM.title, body: systemBody(consoleUrl, page) });
  });
  return router;
}

interface SystemPage {
  diagnostics: Diagnostics;
  findings: readonly Finding[];
  workers: readonly WorkerView[];
  webhooks: WebhookFacts;
  /** When all of this was read. */
  readAt: Date;
}

/** What to do about problems first, then the facts behind it. */
function systemBody(consoleUrl: ConsoleUrl, page: SystemPage): Html {
  return html`${headline(
    SYSTEM.title,
    undefined,
    html`<span class="soft small">${SYSTEM.readAt} ${time(page.readAt.toISOString())}</span>
<a class="button quiet" href="${consoleUrl('/system/providers')}">${PROVIDERS.title}</a>
<a class="button quiet" href="${consoleUrl('/system/login')}">${LOGIN_POLICY.title}</a>
<a class="button quiet" href="${consoleUrl('/system/branding')}">${BRANDING.title}</a>
<a class="button quiet" href="${consoleUrl('/system/administrators')}">${ADMINISTRATORS.title}</a>`,
  )}
<section class="card"><h2>${SYSTEM.findings}</h2>${findingsOf(page.findings)}</section>
<section class="card flush"><h2 class="inset">${SYSTEM.workers}</h2>${workersOf(page)}</section>
<div class="columns"><div>
<section class="card"><h2>${SYSTEM.queue}</h2>${facts(queueFacts(page))}</section>
<section class="card"><h2>${SYSTEM.database}</h2>${facts(databaseFacts(page))}</section>
</div><div>
<section class="card"><h2>${SYSTEM.deliveries}</h2>${facts(deliveryFacts(page))}</section>
<section class="card"><h2>${SYSTEM.service}</h2>${facts(serviceFacts(page))}</section>
</div></div>`;
}

const ORDER: Record<Finding['state'], number> = { problem: 0, warning: 1, skipped: 2, ok: 3 };

/** Problems first: they are what somebody must act on. */
function findingsOf(findings: readonly Finding[]): Html {
  const sorted = findings.toSorted((a, b) => ORDER[a.state] - ORDER[b.state]);
  return html`<ul class="plain findings">${sorted.map(
    ({ name, state: found, message, advice }) => html`<li>${state(FINDING_STATES[found])}
<div lang="en"><strong>${name}</strong>: ${message}${advice && html`<br><span class="soft">${advice}</span>`}</div></li>\n`,
  )}</ul>`;
}

function workersOf({ workers, readAt }: SystemPage): Html {
  if (workers.length === 0) return html`<p class="inset soft">${SYSTEM.noWorkers}</p>`;
  const columns = [
    SYSTEM.worker,
    SYSTEM.state,
    SYSTEM.roles,
    numbers(SYSTEM.importJobs),
    numbers(SYSTEM.mailJobs),
    numbers(SYSTEM.speed),
    SYSTEM.started,
  ];
  const rows = workers.map((worker) => workerRow(worker, readAt));
  return table(SYSTEM.workers, columns, rows);
}

function workerRow(worker: WorkerView, readAt: Date): Html {
  const { host, pid, version, roles, jobs, usersPerSecond, failing, startedAt } = worker;
  const isStopping = worker.state === 'WORKER_STATE_STOPPING';
  const shown =
    failing.length > 0
      ? state({ name: SYSTEM.failing(failing.join(', ')), look: 'bad' })
      : state(isStopping ? { name: SYSTEM.stopping, look: 'warn' } : { name: SYSTEM.running, look: 'good' });
  return html`<tr><th scope="row">${host} <span class="soft">${SYSTEM.process(pid, version)}</span></th>
<td data-label="${SYSTEM.state}">${shown}</td>
<td data-label="${SYSTEM.roles}">${roles.join(', ')}</td>
<td data-label="${SYSTEM.importJobs}" class="number">${count(jobs.imports)}</td>
<td data-label="${SYSTEM.mailJobs}" class="number">${count(jobs.mails)}</td>
<td data-label="${SYSTEM.speed}" class="number">${SYSTEM.perSecond(count(Math.round(usersPerSecond)))}</td>
<td data-label="${SYSTEM.started}">${SYSTEM.ago(duration(readAt.getTime() - Date.parse(startedAt)))}</td></tr>
`;
}

function queueFacts({ diagnostics: { queue, limits } }: SystemPage): Fact[] {
  const { jobs, workers } = queue;
  return [
    [SYSTEM.backend, SYSTEM.backends[queue.backend]],
    [SYSTEM.answers, queue.answers ? SYSTEM.yes : SYSTEM.no],
    [SYSTEM.dispatcher, queue.dispatching ? SYSTEM.works : SYSTEM.missing],
    [SYSTEM.backlog, SYSTEM.ofMost(count(limits.backlog), limits.maxBacklog ? count(limits.maxBacklog) : undefined)],
    [SYSTEM.importJobs, jobs && count(jobs.imports)],
    [SYSTEM.mailJobs, jobs && count(jobs.mails)],
    [SYSTEM.importWorkers, workers && count(workers.imports)],
    [SYSTEM.mailWorkers, workers && count(workers.mails)],
    [SYSTEM.redis, queue.redis && `${queue.redis.version}, ${sizeText(queue.redis.usedMemory)}`],
    ...(queue.redisNodes ?? []).map(
      (node, i): Fact => [`${node.role} ${i + 1}`, node.answers ? SYSTEM.works : SYSTEM.silent],
    ),
  ];
}

function databaseFacts({ diagnostics: { postgres, replica } }: SystemPage): Fact[] {
  return [
    [SYSTEM.version, `PostgreSQL ${postgres.version}`],
    [SYSTEM.size, sizeText(postgres.databaseBytes)],
    [SYSTEM.connections, SYSTEM.ofMost(count(postgres.connections.used), count(postgres.connections.max))],
    [SYSTEM.migrations, SYSTEM.ofMost(count(postgres.migrations.applied), count(postgres.migrations.known))],
    [SYSTEM.replica, replica && (replica.answers ? SYSTEM.behind(sizeText(replica.lagBytes ?? 0)) : SYSTEM.silent)],
  ];
}

function deliveryFacts({ diagnostics: { mail }, webhooks }: SystemPage): Fact[] {
  const server = mail.smtp && (mail.smtp.answers ? SYSTEM.works : SYSTEM.silent);
  return [
    [SYSTEM.mailServer, server ?? SYSTEM.mailFiles],
    [SYSTEM.outbox, count(mail.pending)],
    [SYSTEM.mailsFailed, count(mail.failedLastWeek)],
    [SYSTEM.webhooks, count(webhooks.pending)],
    [SYSTEM.webhooksFailed, count(webhooks.failedLastWeek)],
  ];
}

function serviceFacts({ diagnostics: { version, node, limits } }: SystemPage): Fact[] {
  const unlimited = (n: number) => (n === 0 ? SYSTEM.unlimited : count(n));
  return [
    [SYSTEM.version, `Muster ${version}`],
    ['Node.js', node],
    [SYSTEM.maxImport, sizeText(limits.maxImportBytes)],
    [SYSTEM.maxTimeout, limits.maxImportTimeout],
    [SYSTEM.requests, unlimited(limits.requestsPerSecond)],
    [SYSTEM.logins, unlimited(limits.loginsPerMinute)],
  ];
}

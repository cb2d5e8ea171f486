/** Everything that follows from what a service reports about itself. */
import type { Diagnostics } from '../diagnostics/routes.ts';
import type { Finding } from './finding.ts';
import { judgeReplica } from './replica.ts';
import { judgeConnections } from './server.ts';
import { judgeKey, judgeLimits, judgeMail } from './service.ts';
import { judgePostgres, judgeQueue } from './stores.ts';

export function judge(facts: Diagnostics): Finding[] {
  return [
    ...judgePostgres(facts.postgres),
    ...judgeConnections(facts.postgres.connections, {
      backend: facts.queue.backend,
      workers: Math.max(facts.queue.workers?.imports ?? 0, facts.queue.workers?.mails ?? 0),
    }),
    ...judgeReplica(facts.replica),
    ...judgeQueue(facts.queue),
    ...judgeMail(facts.mail),
    judgeKey(facts),
    judgeLimits(facts),
  ];
}

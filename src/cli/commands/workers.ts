import type { Answer } from '../../contract/client.ts';
import { command } from '../command.ts';
import { number } from '../follow/progress.ts';

type WorkerView = Answer<'listWorkers'>['result'][number];

const COLUMNS = ['HOST', 'PID', 'STATE', 'VERSION', 'QUEUE', 'IMPORT JOBS', 'MAIL JOBS', 'USERS/S', 'STARTED', 'ROLES'];

/** `muster workers`: the live worker processes. */
export const workers = command({
  usage: 'workers',
  describe: 'list the live worker processes, and what each one does',
  examples: [
    ['$0 workers', 'all workers, by host'],
    [
      '$0 workers --json | jq \'[.result[] | select(.roles | index("import"))] | length\'',
      'for scripts: how many write users',
    ],
  ],
  async run({ out, api }) {
    const found = await api.call('listWorkers');
    out.result(found);
    if (found.result.length === 0) return out.line('No worker is running. Start one: npm run worker');
    out.table(COLUMNS, found.result.map(row));
  },
});

function row({ host, pid, version, queue, jobs, usersPerSecond, startedAt, roles, ...worker }: WorkerView): string[] {
  const shards = queue.shards > 1 ? `, ${queue.shards} shards` : '';
  const rates = [jobs.imports, jobs.mails, usersPerSecond].map(number);
  return [
    host,
    String(pid),
    stateOf(worker),
    version,
    `${queue.backend}${shards}`,
    ...rates,
    startedAt,
    roles.join(' '),
  ];
}

/** `running`, `stopping`, or with what fails: `failing: imports queue`, `stopping, failing: imports queue`. */
function stateOf({ state, failing }: Pick<WorkerView, 'state' | 'failing'>): string {
  const names = [state.replace('WORKER_STATE_', '').toLowerCase(), `failing: ${failing.join(', ')}`];
  if (failing.length === 0) return names[0] as string;
  return names.slice(state === 'WORKER_STATE_RUNNING' ? 1 : 0).join(', ');
}

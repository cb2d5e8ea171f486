/** The worker process, `npm run worker`; any number of them may run. */
import { constants, setPriority } from 'node:os';
import { runEntry } from '../src/platform/lifecycle.ts';
import { startWorker } from './start.ts';

// On a shared machine, interactive requests take priority over bulk imports. Threads that start later inherit the
// priority.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
runEntry('worker', startWorker);

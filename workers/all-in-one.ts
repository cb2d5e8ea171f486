/** The worker process, `npm run worker`; any number of them may run. */
import { constants, setPriority } from 'node:os';
import { runEntry } from '../src/lifecycle.ts';
import { startWorker } from './start.ts';

// On a machine that all share, whoever logs in or looks on goes before a mass import. Threads that start later inherit it.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
runEntry('worker', startWorker);

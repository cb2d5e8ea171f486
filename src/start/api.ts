import { runEntry } from '../platform/lifecycle.ts';
import { startApi } from './serve.ts';

/** The API process, `npm run api`; any number of them may run. */

runEntry('api', startApi);

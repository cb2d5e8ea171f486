/** The API process, `npm run api`; any number of them may run. */
import { runEntry } from '../platform/lifecycle.ts';
import { startApi } from './serve.ts';

runEntry('api', startApi);

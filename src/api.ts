/** The API process, `npm run api`; any number of them may run. */
import { runEntry } from './lifecycle.ts';
import { startApi } from './start/api.ts';

runEntry('api', startApi);

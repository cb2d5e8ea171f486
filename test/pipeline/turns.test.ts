/** Fair scheduling: a small import is done at once, however many users of a large one are waiting before it. */
import { smallImportsEndFirst, TURNS } from '../support/imports/turns.ts';
import { onEachBackend, startService } from '../support/processes/service.ts';

onEachBackend('a small import', async (t, backend) => {
  await smallImportsEndFirst(t, await startService(t, { backend, env: TURNS }));
});

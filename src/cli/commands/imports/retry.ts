import { continuing } from '../../imports/continuing.ts';

const NOBODY =
  'There are no users to retry: entries that were invalid from the start stay failed until you correct them, as with `muster causes` and `muster fix`.';

/** `muster retry`: failed users become pending again; entries that are still invalid stay failed. */
export const retry = continuing({
  name: 'retry',
  describe: 'retry failed users: those that conflicted or were refused when they were written, or were corrected',
  examples: [
    ['$0 retry 17', 'while its deadline has not passed'],
    ['$0 retry 17 --timeout 30m --watch', 'with 30 minutes from now on'],
  ],
  note: ({ state }) => (state === 'IMPORT_STATE_COMPLETED_WITH_ERRORS' ? NOBODY : undefined),
});

import { continuing } from '../../imports/continuing.ts';

/** `muster resume`: continues with exactly the remaining users. */
export const resume = continuing({
  name: 'resume',
  describe: 'resume an import that was paused or cancelled, or that timed out',
  examples: [
    ['$0 resume 17', 'a paused import, with its remaining time'],
    ['$0 resume 17 --timeout 30m --watch', 'an import that timed out, with another 30 minutes'],
  ],
});

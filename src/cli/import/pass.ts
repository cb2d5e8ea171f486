/**
 * One pass over the files while their users are sent: counts them for the summary, and shows it before the last bytes
 * leave, so that a file that must not be imported is dropped by the service as an incomplete upload.
 */
import type { Conversion, Outcome } from '../../sources/convert.ts';
import { openCounter, type Summary } from '../../sources/summary.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import type { Chosen } from './choose.ts';
import { requireUsersInFiles } from './require-users.ts';
import type { RunOptions } from './run-options.ts';
import { summaryLines } from './show-summary.ts';

/** What an upload tells about the records that it sends; a new one for each attempt. */
export interface Pass {
  /** @throws to end the upload */
  see(outcome: Outcome): void;
  /** Every record was seen, and not everything was sent. @throws to end the upload */
  end(): void;
}

/** A record that stops the import, so the rest need not be sent; the summary names all of them. */
export class Unsendable extends Error {}

/** @param decide called with the summary, once it was shown; throws if the users must not be imported */
export function openPass(
  out: Output,
  job: { conversion: Conversion; chosen: Chosen; options: RunOptions; shown: { summary?: Summary }; onEnd: () => void },
  decide: (summary: Summary) => void,
): Pass {
  const { conversion, chosen, options, shown, onEnd } = job;
  const counter = openCounter({ atSource: options.passwordSource !== undefined });
  return {
    see(outcome) {
      counter.add(outcome);
      const isBroken = outcome.problem !== undefined && !options.skipBroken;
      if (isBroken || outcome.entry?.orgId === '') throw new Unsendable();
    },
    end() {
      if (shown.summary) return; // an earlier attempt has decided
      onEnd();
      const summary = counter.summary(conversion.unusedHashes());
      showSummary(out, summary, options);
      requireUsers(summary, options, chosen);
      decide(summary);
      shown.summary = summary;
    },
  };
}

export function showSummary(out: Output, summary: Summary, options: RunOptions): void {
  const { mails = 'auto', withoutEmail, passwordSource } = options;
  for (const line of summaryLines(summary, { mails, withoutEmail, passwordSource })) out.note(line);
}

/** @throws Failure (usage) when a file has no users, a record cannot be read, or users have no organization */
export function requireUsers(summary: Summary, { skipBroken }: RunOptions, { files }: Chosen): void {
  const broken = summary.broken.reduce((sum, { count }) => sum + count, 0);
  if (broken > 0 && !skipBroken) {
    throw new Failure(`${broken} record${broken === 1 ? '' : 's'} cannot be read, so nothing was imported.`, {
      exitCode: EXIT.usage,
      advice: 'Correct them at the places named above, or skip them with --skip-broken.',
    });
  }
  const names = files.filter(({ isHashes }) => !isHashes).map(({ file }) => file.name);
  requireUsersInFiles(summary, names);
  if (summary.orgs.some(({ orgId }) => orgId === '')) {
    throw new Failure('The files do not say which organization the users belong to.', {
      exitCode: EXIT.usage,
      advice: 'Specify it with --org; `muster orgs list` shows the existing ones.',
    });
  }
}

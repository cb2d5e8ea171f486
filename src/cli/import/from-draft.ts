/**
 * What happens to users that are at the service as a draft: a dry run checks them and leaves them there; else they are
 * checked and asked about, if there is a question, and started.
 *
 * Guarantee: after a "no" the draft is discarded, and after Ctrl-C at the question too.
 */
import type { ImportResult } from '../imports/import-result.ts';
import { countsText } from '../imports/progress.ts';
import type { Session } from '../service/session.ts';
import { confirm } from '../terminal/confirm.ts';
import { Failure } from '../terminal/failure.ts';
import { Interrupted, orAborted, untilInterrupted } from '../terminal/interrupt.ts';
import { checkDraft, settingsOf } from './check.ts';
import { type Plan, questionFor } from './confirm.ts';
import { readFailures } from './failures.ts';
import { follow, type Sent } from './follow.ts';
import type { RunOptions } from './run-options.ts';
import { groupLines } from './show-summary.ts';
import { untilTaken } from './upload.ts';

const OF_DRAFTS = ['IMPORT_STATE_DRAFT', 'IMPORT_STATE_CHECKING', 'IMPORT_STATE_CHECKED'];

/** @throws Failure @throws Interrupted */
export async function fromDraft(session: Session, options: RunOptions, plan: Plan, sent: Sent): Promise<void> {
  const { importId, state } = sent.accepted;
  if (state === 'IMPORT_STATE_DISCARDED') throw new Failure('The draft of an earlier run with this key was discarded.');
  // An earlier run with the same key has started it.
  if (!OF_DRAFTS.includes(state)) return follow(session, options, sent);
  const stays = (error: unknown) => {
    if (!(error instanceof Interrupted))
      session.out.note(`The users stay at the service as draft ${importId}: \`muster status ${importId}\`.`);
    throw error;
  };
  if (options.dryRun) {
    const result = await checkDraft(session, importId, options).catch(stays);
    return follow(session, options, { ...sent, accepted: result }, importId);
  }
  const question = questionFor(sent.summary, plan);
  if (question !== undefined) await decide(session, options, sent, question);
  const accepted = await start(session, importId, options).catch(stays);
  await follow(session, options, { ...sent, accepted });
}

async function decide(session: Session, options: RunOptions, sent: Sent, question: string): Promise<void> {
  const { api, out } = session;
  const { importId } = sent.accepted;
  const check = await checkDraft(session, importId, options);
  out.note(`Checked ${countsText(check.counts)}`);
  if (check.counts.failed > 0)
    for (const line of groupLines('Will fail', await readFailures(api, check.importId, sent.places))) out.note(line);
  try {
    await confirm(out, question);
  } catch (error) {
    await api.call('POST', `/admin/v1/imports/${importId}/_discard`);
    throw error;
  }
}

function start({ api, out }: Session, importId: string, options: RunOptions): Promise<ImportResult> {
  const left = new Interrupted(
    'Interrupted while the import was started.',
    `\`muster status ${importId}\` shows whether it runs.`,
  );
  const body = { ...settingsOf(options), webhook: options.webhook };
  const again = (why: string, seconds: number) => out.note(`${why} Trying again in ${seconds} s.`);
  const attempt = (signal: AbortSignal) =>
    untilTaken(
      () => api.call<ImportResult>('POST', `/admin/v1/imports/${importId}/_start`, { body, signal }),
      again,
      signal,
    );
  return untilInterrupted(left, (signal) => orAborted(signal, attempt(signal)));
}

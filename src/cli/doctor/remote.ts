/** Checks a service from outside, as its callers see it, and what it reports about itself. */
import type { Diagnostics } from '../../diagnostics/routes.ts';
import { type Finding, skipped } from '../../findings/finding.ts';
import { judge } from '../../findings/judge.ts';
import { judgeVersions } from '../../findings/service.ts';
import { isIamOwner } from '../service/me.ts';
import type { Session } from '../service/session.ts';
import { Failure } from '../terminal/failure.ts';
import { checkAddress } from './address.ts';
import { checkIdentity } from './identity.ts';

/** Yields each finding as soon as it is known. @param version of the command line */
export async function* checkService(session: Session, version: string): AsyncGenerator<Finding> {
  const { findings, answers } = await checkAddress(session.settings.url);
  yield* findings;
  if (!answers) return;
  const { finding, me } = await checkIdentity(session);
  yield finding;
  if (!me) return;
  if (!isIamOwner(me)) yield skipped('stores, queue, mail', 'only an IAM_OWNER may see their state');
  else yield* await checkInside(session, version);
}

async function checkInside({ api }: Session, version: string): Promise<Finding[]> {
  const facts = await api.call<Diagnostics>('GET', '/admin/v1/diagnostics').catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
  if (facts instanceof Failure)
    return [skipped('stores, queue, mail', `the service does not report them: ${facts.message}`)];
  return [judgeVersions(facts, version), ...judge(facts)];
}

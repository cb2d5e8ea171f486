/** Who the caller is, and into which organizations they may import. */

import { type Finding, ok, problem, warning } from '../../findings/finding.ts';
import { isIamOwner, type Me, nameOf, readMe } from '../service/me.ts';
import type { Session } from '../service/session.ts';
import { EXIT, Failure } from '../terminal/failure.ts';

/** Returns the finding, and the caller if the service names them. */
export async function checkIdentity({ api }: Session): Promise<{ finding: Finding; me?: Me }> {
  try {
    const me = await readMe(api);
    return { finding: judge(me), me };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const advice = error.advice ?? 'Run `muster login`.';
    if (error.exitCode === EXIT.denied) return { finding: problem('login', error.message, advice) };
    return { finding: problem('login', `the caller cannot be identified: ${error.message}`, advice) };
  }
}

const SHOWN = 5;

function judge(me: Me): Finding {
  if (isIamOwner(me)) return ok('login', `${nameOf(me)}, IAM_OWNER; may import into every organization`);
  const into = me.organizations.filter(({ roles }) => roles.includes('ORG_OWNER'));
  if (into.length > 0) {
    const names = into.slice(0, SHOWN).map(({ id, name }) => (id === name ? id : `${id} (${name})`));
    const more = into.length > SHOWN ? ` and ${into.length - SHOWN} more` : '';
    return ok('login', `${nameOf(me)}; may import into ${names.join(', ')}${more}`);
  }
  const advice = 'To import, ask an owner of the organization for the role ORG_OWNER.';
  return warning('login', `${nameOf(me)}; may not import into any organization`, advice);
}

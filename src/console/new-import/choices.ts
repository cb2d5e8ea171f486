/** What a person can choose in the step Options, and whether their choice fits. */
import { may } from '../../access/caller.ts';
import { invalidArgument } from '../../errors.ts';
import { findOrgs } from '../../orgs/store.ts';
import { OPTIONS } from '../texts/new-import.ts';
import type { Organization } from './options.ts';
import { activeSources, type PasswordSource } from './password-sources.ts';
import type { Plan } from './plan.ts';
import type { Visiting } from './visiting.ts';

const MOST_ORGS = 200;

/** Organizations that the person may import into. */
export async function organizationsOf({ api, caller, pool }: Visiting): Promise<Organization[]> {
  if (!caller.isIamOwner) {
    const ids = [...caller.orgRoles.keys()].filter((id) => may(caller, 'createImport', id));
    return (await findOrgs(pool, ids)).map(({ id, name }) => ({ id, name }));
  }
  const body = { query: { limit: MOST_ORGS }, queries: [] };
  return (await api.send<{ result: Organization[] }>('/admin/v1/orgs/_search', body)).result;
}

/** The organization that is chosen at first; the only one of a person who may create others is that of the service itself. */
export function likelyOrg(organizations: readonly Organization[], mayCreate: boolean): string {
  const [only, ...others] = organizations;
  return only && others.length === 0 && !mayCreate ? only.id : '';
}

/** Users that came in a request have their source, or none, already. */
export async function sourcesOf(
  { caller, draft, pool }: Visiting,
  of: readonly Organization[],
): Promise<PasswordSource[]> {
  if (draft.files.length === 0) return [];
  const ids = of.map(({ id }) => id).filter((id) => may(caller, 'listPasswordSources', id));
  return activeSources(pool, ids);
}

/** @throws ApiError 400 when the users go to another organization than that of the source */
export async function requireSourceOf(on: Visiting, { orgId, passwordSource }: Plan, isNew: boolean): Promise<void> {
  if (passwordSource === '' || (orgId === '' && !isNew)) return;
  const sources = isNew ? [] : await sourcesOf(on, [{ id: orgId, name: '' }]);
  if (sources.some(({ id }) => id === passwordSource)) return;
  const description = OPTIONS.sourceOfOther;
  throw invalidArgument('CONSOLE-OPTIONS', description, [{ field: 'passwordSource', description }]);
}

/** The name of the source that the draft was converted with, or its id if it has ended. */
export async function sourceName({ plan, pool, result }: Visiting): Promise<string | undefined> {
  const { passwordSource } = plan;
  if (!passwordSource) return undefined;
  const ids = result.orgs.map(({ orgId }) => orgId);
  return (await activeSources(pool, ids)).find(({ id }) => id === passwordSource)?.name ?? passwordSource;
}

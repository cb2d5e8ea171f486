/** The user that the token belongs to, as the service reports it. */
import type { Api } from './api.ts';

export interface MyOrg {
  id: string;
  name: string;
  primaryDomain: string;
  roles: string[];
}

export interface Me {
  user: {
    userId: string;
    preferredLoginName: string;
    human?: { profile: { displayName: string } };
    machine?: { name: string };
  };
  instanceRoles: string[];
  /** Those on which the user has roles. */
  organizations: MyOrg[];
}

/** @throws Failure when the token is not valid */
export function readMe(api: Pick<Api, 'call'>): Promise<Me> {
  return api.call<Me>('GET', '/management/v1/me');
}

export function isIamOwner({ instanceRoles }: Me): boolean {
  return instanceRoles.includes('IAM_OWNER');
}

/** `IAM_OWNER`, `ORG_OWNER of Acme` or `without any role`, as the end of a sentence. */
export function rolesOf({ instanceRoles, organizations }: Me): string {
  const [first, ...others] = organizations;
  if (instanceRoles.length > 0) return instanceRoles.join(', ');
  if (!first) return 'without any role';
  return `${first.roles.join(', ')} of ${first.name}${others.length > 0 ? ` and ${others.length} more` : ''}`;
}

/** `Ann Arbor (ann@acme.example)` */
export function nameOf({ user }: Me): string {
  const name = user.human?.profile.displayName || user.machine?.name || user.userId;
  return `${name} (${user.preferredLoginName})`;
}

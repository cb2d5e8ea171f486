/** Roles, and the sets of them that operations ask for. In a file without zod, which the command line need not load. */

/** Roles on an organization. */
export const ORG_ROLES = ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER'] as const;
export type OrgRole = (typeof ORG_ROLES)[number];
export const INSTANCE_ROLES = ['IAM_OWNER'] as const;

/** Who may call an operation: an IAM_OWNER always; all others as it says. */
export interface Permission {
  /** One of them is needed on the organization that the call acts on. Empty: only an IAM_OWNER may call. */
  roles: readonly OrgRole[];
  /** Users may do it to themselves, regardless of their roles. */
  self?: true;
  /** A valid code of the user is enough, without a bearer token. */
  code?: true;
}

export const IAM_OWNER_ONLY = { roles: [] } as const satisfies Permission;
/** Every user may call it for themselves. */
export const SELF = { roles: [], self: true } as const satisfies Permission;
export const OWNER = { roles: ['ORG_OWNER'] } as const satisfies Permission;
export const OWNER_OR_SELF = { ...OWNER, self: true } as const satisfies Permission;
export const MANAGER = { roles: ['ORG_OWNER', 'ORG_USER_MANAGER'] } as const satisfies Permission;
export const MANAGER_OR_SELF = { ...MANAGER, self: true } as const satisfies Permission;
export const ANY_ROLE = { roles: ORG_ROLES } as const satisfies Permission;
export const ANY_ROLE_OR_SELF = { ...ANY_ROLE, self: true } as const satisfies Permission;
export const MANAGER_SELF_OR_CODE = { ...MANAGER_OR_SELF, code: true } as const satisfies Permission;

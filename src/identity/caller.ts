/** Who is calling and what they may do. Read once per request from the bearer token, kept in `res.locals.caller`. */
import type { Request, Response } from 'express';
import { ApiError } from '../errors.ts';

export const ORG_ROLES = ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER'] as const;
export type OrgRole = (typeof ORG_ROLES)[number];

export const INSTANCE_ROLES = ['IAM_OWNER'] as const;
/** Who manages users. */
export const USER_MANAGERS = ['ORG_OWNER', 'ORG_USER_MANAGER'] as const;

export interface Caller {
  userId: string;
  /** The organization that the calling user belongs to. */
  orgId: string;
  isIamOwner: boolean;
  /** Roles by organization id. */
  orgRoles: ReadonlyMap<string, readonly string[]>;
}

/** The caller that the authentication step put there. */
export function callerOf(res: Response): Caller {
  return res.locals.caller as Caller;
}

/** Whether the caller holds one of `roles` on the organization; an IAM_OWNER holds all. */
export function hasOrgRole(caller: Caller, orgId: string, roles: readonly OrgRole[]): boolean {
  if (caller.isIamOwner) return true;
  return (caller.orgRoles.get(orgId) ?? []).some((r) => (roles as readonly string[]).includes(r));
}

/** @throws ApiError 403 unless the caller holds one of `roles` on the organization */
export function requireOrgRole(caller: Caller, orgId: string, roles: readonly OrgRole[]): void {
  if (!hasOrgRole(caller, orgId, roles)) throw permissionDenied();
}

/** @throws ApiError 403 unless the caller is an IAM_OWNER */
export function requireIamOwner(caller: Caller): void {
  if (!caller.isIamOwner) throw permissionDenied();
}

/** Whether the caller holds any role at all, on the instance or on some organization. */
export function hasAnyRole(caller: Caller): boolean {
  return caller.isIamOwner || [...caller.orgRoles.values()].some((roles) => roles.length > 0);
}

/**
 * `found` for a caller with one of `roles` on its organization. To everybody else what is missing and what is not
 * theirs look alike.
 * @param missing what an IAM_OWNER is told when there is nothing
 * @throws ApiError 403, or `missing`
 */
export function requireReach<T extends { orgId: string }>(
  caller: Caller,
  found: T | undefined,
  roles: readonly OrgRole[],
  missing: () => ApiError,
): T {
  if (found && hasOrgRole(caller, found.orgId, roles)) return found;
  throw caller.isIamOwner ? missing() : permissionDenied();
}

/** The roles a user holds, as they are stored. */
export interface Rights {
  isIamOwner: boolean;
  orgRoles: ReadonlyMap<string, readonly string[]>;
}

/** Whether `caller` may do everything that a holder of `rights` may; ORG_OWNER includes the other organization roles. */
export function covers(caller: Caller, rights: Rights): boolean {
  if (caller.isIamOwner) return true;
  if (rights.isIamOwner) return false;
  return [...rights.orgRoles].every(([orgId, roles]) => {
    const own = caller.orgRoles.get(orgId) ?? [];
    return own.includes('ORG_OWNER') || roles.every((role) => own.includes(role));
  });
}

/** The one 403, alike for what exists and what does not. */
export function permissionDenied(): ApiError {
  return new ApiError('PERMISSION_DENIED', 'AUTH-PERMISSION', 'No permission to access the resource.');
}

/** The organization a management call acts on: `x-service-orgid` or its alias, else the caller's own. */
export function selectedOrg(req: Request, caller: Caller): string {
  return req.get('x-service-orgid') || req.get('x-zitadel-orgid') || caller.orgId;
}

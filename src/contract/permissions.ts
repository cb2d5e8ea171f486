/** Who may call each operation, and the caller of a request, to whom this applies. */
import { isUtf8 } from 'node:buffer';
import type { Request, Response } from 'express';
import { ApiError } from '../platform/errors.ts';
import type { OperationId } from './operations.ts';
import { OUTLINE } from './outline.ts';
import type { Permission } from './roles.ts';

export const PERMISSIONS: Readonly<Record<OperationId, Permission>> = Object.fromEntries(
  Object.entries<{ who: Permission }>(OUTLINE).map(([id, { who }]) => [id, who]),
) as Record<OperationId, Permission>;

/** The caller of a request: read once from the bearer token, and kept in `res.locals.caller`. */
export interface Caller {
  userId: string;
  /** The organization that the calling user belongs to. */
  orgId: string;
  /** The OAuth client that the access token was issued to; undefined for a personal access token. */
  clientId?: string | undefined;
  isIamOwner: boolean;
  /** Roles by organization id. */
  orgRoles: ReadonlyMap<string, readonly string[]>;
  /** When the person signed in, in seconds since 1970. Undefined for programs and personal access tokens. */
  signedInAt?: number | undefined;
  /** Where the person is logged in with this token, by the ids of their logins; undefined for other tokens. */
  login?: { application: string; browser: string | undefined } | undefined;
}

/** The caller that the authentication middleware stored. */
export function callerOf(res: Response): Caller {
  return res.locals.caller as Caller;
}

/** Whether the caller may do `operation` on the organization; without one, on the instance. */
export function may(caller: Caller, operation: OperationId, orgId?: string): boolean {
  if (caller.isIamOwner) return true;
  if (orgId === undefined) return false;
  const sufficient: readonly string[] = PERMISSIONS[operation].roles;
  return (caller.orgRoles.get(orgId) ?? []).some((role) => sufficient.includes(role));
}

/** @throws ApiError 403 unless the caller may do `operation` on the organization; without one, on the instance */
export function requirePermission(caller: Caller, operation: OperationId, orgId?: string): void {
  if (!may(caller, operation, orgId)) throw permissionDenied();
}

/**
 * Organizations on which the caller may do `operation`; undefined means every one.
 * For calls whose organization is known only from the body or the result.
 * @throws ApiError 403 when there is none
 */
export function orgsFor(caller: Caller, operation: OperationId): string[] | undefined {
  if (caller.isIamOwner) return undefined;
  const orgIds = [...caller.orgRoles.keys()].filter((orgId) => may(caller, operation, orgId));
  if (orgIds.length === 0) throw permissionDenied();
  return orgIds;
}

/** Whether users may do the operation to themselves, and the caller is the user. */
export function isSelf(caller: Caller, operation: OperationId, userId: string): boolean {
  return PERMISSIONS[operation].self === true && caller.userId === userId;
}

/**
 * Returns `found` if the caller may do `operation` on its organization, or is that user where the table says "self".
 * Others get the same 403 whether or not it exists.
 * @param missing the error for an IAM_OWNER when the resource does not exist
 * @throws ApiError 403, or `missing`
 */
export function requireReach<T extends { id: string; orgId: string }>(
  caller: Caller,
  operation: OperationId,
  found: T | undefined,
  missing: () => ApiError,
): T {
  if (found && (isSelf(caller, operation, found.id) || may(caller, operation, found.orgId))) return found;
  throw caller.isIamOwner ? missing() : permissionDenied();
}

/** The stored roles of a user. */
export interface Rights {
  isIamOwner: boolean;
  orgRoles: ReadonlyMap<string, readonly string[]>;
}

/** Whether `caller` may do all that a holder of `rights` may; ORG_OWNER includes the other organization roles. */
export function covers(caller: Caller, rights: Rights): boolean {
  if (caller.isIamOwner) return true;
  if (rights.isIamOwner) return false;
  return [...rights.orgRoles].every(([orgId, roles]) => {
    const own = caller.orgRoles.get(orgId) ?? [];
    return own.includes('ORG_OWNER') || roles.every((role) => own.includes(role));
  });
}

/** The error of a caller without a role: the same 403 whether or not the resource exists. */
export function permissionDenied(): ApiError {
  return new ApiError('PERMISSION_DENIED', 'AUTH-PERMISSION', 'No permission to access the resource.');
}

/** The organization a management call acts on: `x-service-orgid` or its alias, else the caller's own. */
export function selectedOrg(req: Request, caller: Caller): string {
  return namedOrg(req) ?? caller.orgId;
}

/** The organization that the headers name, if they name one. */
export function namedOrg(req: Request): string | undefined {
  const named = req.get('x-service-orgid') || req.get('x-zitadel-orgid');
  return named ? headerText(named) : undefined;
}

/** Node.js reads headers as ISO 8859-1, but most programs send UTF-8, and an id may contain any letter. */
function headerText(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

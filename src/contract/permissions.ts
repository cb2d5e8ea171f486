/**
 * The table of all operations and who may call them, and the caller of a request, to whom it applies.
 *
 * An IAM_OWNER may call everything. All other callers need one of `roles` on the organization that the call acts on;
 * where `roles` is empty, only an IAM_OWNER may call.
 */
import { isUtf8 } from 'node:buffer';
import type { Request, Response } from 'express';
import { ApiError } from '../platform/errors.ts';

/** Roles on an organization. */
export const ORG_ROLES = ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER'] as const;
export type OrgRole = (typeof ORG_ROLES)[number];
export const INSTANCE_ROLES = ['IAM_OWNER'] as const;

export interface Permission {
  roles: readonly OrgRole[];
  /** Users may do it to themselves, regardless of their roles. */
  self?: true;
  /** A valid code of the user is enough, without a bearer token. */
  code?: true;
}

const IAM_OWNER_ONLY: Permission = { roles: [] };
/** Every user may call it for themselves. */
const SELF: Permission = { roles: [], self: true };
const OWNER: Permission = { roles: ['ORG_OWNER'] };
const MANAGER: Permission = { roles: ['ORG_OWNER', 'ORG_USER_MANAGER'] };
const MANAGER_OR_SELF: Permission = { ...MANAGER, self: true };
const ANY_ROLE: Permission = { roles: ORG_ROLES };
const ANY_ROLE_OR_SELF: Permission = { ...ANY_ROLE, self: true };

const TABLE = {
  setUpOrg: IAM_OWNER_ONLY,
  createOrg: IAM_OWNER_ONLY,
  getOrg: IAM_OWNER_ONLY,
  searchOrgs: IAM_OWNER_ONLY,
  deactivateOrg: IAM_OWNER_ONLY,
  reactivateOrg: IAM_OWNER_ONLY,
  previewOrgRemoval: IAM_OWNER_ONLY,
  deleteOrg: IAM_OWNER_ONLY,
  undeleteOrg: IAM_OWNER_ONLY,
  getOrgLimits: OWNER,
  setOrgLimits: IAM_OWNER_ONLY,
  getMyOrg: ANY_ROLE,
  getAllowedUrls: ANY_ROLE,
  setAllowedUrls: OWNER,
  getSignInNames: ANY_ROLE,
  setSignInNames: OWNER,

  getMe: SELF,
  getMyUser: SELF,
  createHumanUser: MANAGER,
  getUser: ANY_ROLE_OR_SELF,
  getUserMetadata: ANY_ROLE_OR_SELF,
  getUserLinks: ANY_ROLE_OR_SELF,
  searchUsers: ANY_ROLE,
  searchOrgUsers: ANY_ROLE,
  updateHumanUser: MANAGER_OR_SELF,
  setEmail: MANAGER_OR_SELF,
  resendEmailCode: MANAGER_OR_SELF,
  verifyEmail: MANAGER_OR_SELF,
  setPhone: MANAGER_OR_SELF,
  removePhone: MANAGER_OR_SELF,
  resendPhoneCode: MANAGER_OR_SELF,
  verifyPhone: MANAGER_OR_SELF,
  setPassword: { ...MANAGER_OR_SELF, code: true },
  resetPassword: MANAGER_OR_SELF,
  addTotp: MANAGER_OR_SELF,
  verifyTotp: MANAGER_OR_SELF,
  removeTotp: MANAGER_OR_SELF,
  deactivateUser: MANAGER,
  reactivateUser: MANAGER,
  lockUser: MANAGER,
  unlockUser: MANAGER,
  deleteUser: MANAGER,
  eraseUser: OWNER,

  createSession: ANY_ROLE,
  getSession: ANY_ROLE,
  deleteSession: ANY_ROLE,
  listLogins: MANAGER_OR_SELF,
  endLogin: MANAGER_OR_SELF,
  endLogins: MANAGER_OR_SELF,

  getPasswordAgePolicy: ANY_ROLE,
  getDefaultPasswordAgePolicy: ANY_ROLE,
  addPasswordAgePolicy: OWNER,
  updatePasswordAgePolicy: OWNER,
  resetPasswordAgePolicy: OWNER,
  getInstancePasswordAgePolicy: IAM_OWNER_ONLY,
  updateDefaultPasswordAgePolicy: IAM_OWNER_ONLY,
  getPasswordComplexityPolicy: ANY_ROLE,
  getDefaultPasswordComplexityPolicy: ANY_ROLE,
  addPasswordComplexityPolicy: OWNER,
  updatePasswordComplexityPolicy: OWNER,
  resetPasswordComplexityPolicy: OWNER,
  getInstancePasswordComplexityPolicy: IAM_OWNER_ONLY,
  updateDefaultPasswordComplexityPolicy: IAM_OWNER_ONLY,
  getLoginPolicy: ANY_ROLE,
  getDefaultLoginPolicy: ANY_ROLE,
  addLoginPolicy: OWNER,
  updateLoginPolicy: OWNER,
  resetLoginPolicy: OWNER,
  getInstanceLoginPolicy: IAM_OWNER_ONLY,
  updateDefaultLoginPolicy: IAM_OWNER_ONLY,

  importHumanUser: OWNER,
  /** Required on every organization of the body. */
  importUsers: OWNER,
  /** A draft's organizations are those of its users; before they are known, its creator may do all of these. */
  createImport: OWNER,
  createImportFile: OWNER,
  getImportFile: OWNER,
  sendImportFile: OWNER,
  removeImportFile: OWNER,
  guessImport: OWNER,
  convertImport: OWNER,
  checkImport: OWNER,
  startImport: OWNER,
  discardImport: OWNER,
  listImports: OWNER,
  getImport: OWNER,
  listImportItems: OWNER,
  getImportItem: OWNER,
  fixImportItem: OWNER,
  listImportCauses: OWNER,
  fixImport: OWNER,
  getImportRates: OWNER,
  previewImportUndo: OWNER,
  streamImportEvents: OWNER,
  getImportReport: OWNER,
  cancelImport: OWNER,
  pauseImport: OWNER,
  resumeImport: OWNER,
  retryImport: OWNER,
  undoImport: OWNER,
  sendImportMails: OWNER,
  setWebhookSecret: OWNER,

  addPasswordSource: OWNER,
  listPasswordSources: OWNER,
  getPasswordSource: OWNER,
  changePasswordSource: OWNER,
  getPasswordSourceStatus: OWNER,
  testPasswordSource: OWNER,
  endPasswordSource: OWNER,
  removePasswordSource: OWNER,

  createMachineUser: OWNER,
  addPat: OWNER,
  listPats: OWNER,
  removePat: OWNER,
  addKey: OWNER,
  listKeys: OWNER,
  removeKey: OWNER,
  setSecret: OWNER,
  removeSecret: OWNER,

  addOrgMember: OWNER,
  searchOrgMembers: OWNER,
  removeOrgMember: OWNER,
  addInstanceMember: IAM_OWNER_ONLY,
  searchInstanceMembers: IAM_OWNER_ONLY,
  removeInstanceMember: IAM_OWNER_ONLY,

  addClient: IAM_OWNER_ONLY,
  listClients: IAM_OWNER_ONLY,
  removeClient: IAM_OWNER_ONLY,

  searchEvents: OWNER,
  exportEvents: OWNER,

  getDiagnostics: IAM_OWNER_ONLY,
  listWorkers: IAM_OWNER_ONLY,
} satisfies Record<string, Permission>;

/** Name of an operation; also its operationId in the OpenAPI document. */
export type OperationId = keyof typeof TABLE;
export const PERMISSIONS: Readonly<Record<OperationId, Permission>> = TABLE;

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

/**
 * Who may call what: the one table that says so (contract section 3). What is not in it is not an operation.
 *
 * An IAM_OWNER may call everything. Of everybody else a call asks for one of `roles` on the organization it acts on;
 * where `roles` is empty, only an IAM_OWNER will do.
 */
export const ORG_ROLES = ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER'] as const;
export type OrgRole = (typeof ORG_ROLES)[number];
export const INSTANCE_ROLES = ['IAM_OWNER'] as const;

export interface Permission {
  roles: readonly OrgRole[];
  /** Users may do it to themselves, whatever roles they hold. */
  self?: true;
  /** Whoever holds a code of the user's mail may do it, without a bearer token. */
  code?: true;
}

const IAM_OWNER_ONLY: Permission = { roles: [] };
/** Whoever it is, on itself. */
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
  getMyOrg: ANY_ROLE,

  getMe: SELF,
  createHumanUser: MANAGER,
  getUser: ANY_ROLE_OR_SELF,
  getUserMetadata: ANY_ROLE_OR_SELF,
  getUserLinks: ANY_ROLE_OR_SELF,
  searchUsers: ANY_ROLE,
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

  createSession: ANY_ROLE,
  getSession: ANY_ROLE,
  deleteSession: ANY_ROLE,

  getPasswordAgePolicy: ANY_ROLE,
  getDefaultPasswordAgePolicy: ANY_ROLE,
  addPasswordAgePolicy: OWNER,
  updatePasswordAgePolicy: OWNER,
  resetPasswordAgePolicy: OWNER,
  getInstancePasswordAgePolicy: IAM_OWNER_ONLY,
  updateDefaultPasswordAgePolicy: IAM_OWNER_ONLY,

  importHumanUser: OWNER,
  /** On every organization of the body. */
  importUsers: OWNER,
  listImports: OWNER,
  getImport: OWNER,
  listImportItems: OWNER,
  streamImportEvents: OWNER,
  getImportReport: OWNER,
  cancelImport: OWNER,
  pauseImport: OWNER,
  resumeImport: OWNER,
  retryImport: OWNER,
  undoImport: OWNER,
  sendImportMails: OWNER,
  setWebhookSecret: OWNER,

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

  getDiagnostics: IAM_OWNER_ONLY,
} satisfies Record<string, Permission>;

/** Name of an operation; its operationId in the OpenAPI document too. */
export type OperationId = keyof typeof TABLE;
export const PERMISSIONS: Readonly<Record<OperationId, Permission>> = TABLE;

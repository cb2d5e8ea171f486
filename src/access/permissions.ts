/**
 * The table of all operations and who may call them.
 *
 * An IAM_OWNER may call everything. All other callers need one of `roles` on the organization that the call acts on;
 * where `roles` is empty, only an IAM_OWNER may call.
 */
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
/** All users, on themselves. */
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

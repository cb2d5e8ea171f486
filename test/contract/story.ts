/** All operations of the document, in an order in which their examples succeed. */
import type { FailedItem } from '../../src/imports/entries/item.ts';
import { USUAL_RULES, validateEntry } from '../../src/imports/entries/validate.ts';
import { reportWorker, type WorkerIdentity } from '../../src/imports/status/workers.ts';
import { setImport } from '../support/imports/imports.ts';
import { codeAt } from '../support/totp.ts';
import type { Json } from './judge.ts';
import type { World } from './world.ts';

export interface Context {
  world: World;
  /** Ids and codes from responses, by the name of their parameter. */
  known: Record<string, string>;
}

export interface Step {
  id: string;
  /** Values of parameters that override the known ones. */
  at?: Record<string, string>;
  headers?: Record<string, string>;
  /** Only this example. */
  example?: string;
  /** Null: no token. */
  token?: null;
  before?: (context: Context) => Promise<unknown>;
  /** Changes the example if it needs a value that is only known now. */
  body?: (example: Json, context: Context) => unknown;
}

const withCode: Step['body'] = (_, { known }) => ({ verificationCode: known.verificationCode });
const onMachine = { at: { userId: 'importer' } };
const onCleo = { at: { userId: 'cleo' } };

export const STORY: Step[] = [
  { id: 'isAlive' },
  { id: 'isReady' },
  { id: 'getMetrics' },
  { id: 'getOpenApi' },
  { id: 'getDocs' },

  { id: 'setUpOrg' },
  { id: 'createOrg' },
  { id: 'getMyOrg' },
  { id: 'getOrg' },
  { id: 'searchOrgs' },
  { id: 'setAllowedUrls' },
  { id: 'getAllowedUrls' },
  { id: 'getSignInNames' },
  { id: 'setSignInNames' },
  { id: 'setWebhookSecret' },
  { id: 'getOrgLimits' },
  { id: 'setOrgLimits', headers: { 'x-service-orgid': 'globex' } },
  { id: 'deactivateOrg', headers: { 'x-service-orgid': 'globex' } },
  { id: 'reactivateOrg', headers: { 'x-service-orgid': 'globex' } },
  { id: 'previewOrgRemoval', headers: { 'x-service-orgid': 'globex' } },
  { id: 'deleteOrg', headers: { 'x-service-orgid': 'globex' } },
  { id: 'undeleteOrg', headers: { 'x-service-orgid': 'globex' } },

  { id: 'getMe' },
  { id: 'getMyUser' },
  { id: 'createHumanUser' },
  { id: 'getUser' },
  { id: 'getUserMetadata' },
  { id: 'getUserLinks' },
  { id: 'searchUsers' },
  { id: 'searchOrgUsers' },
  { id: 'updateHumanUser' },
  { id: 'setEmail' },
  { id: 'resendEmailCode' },
  { id: 'verifyEmail', body: withCode },
  { id: 'setPhone' },
  { id: 'resendPhoneCode' },
  { id: 'verifyPhone', body: withCode },
  { id: 'removePhone' },
  { id: 'setPassword' },
  { id: 'resetPassword' },
  {
    id: 'setPassword',
    token: null,
    example: 'by a manager',
    body: ({ newPassword }, { known }) => ({ newPassword, verificationCode: known.verificationCode }),
  },

  { id: 'createSession' },
  { id: 'getSession' },
  { id: 'addTotp' },
  { id: 'verifyTotp', body: (_, { known }) => ({ code: codeAt(known.secret ?? '') }) },
  { id: 'removeTotp' },
  { id: 'deactivateUser' },
  { id: 'reactivateUser' },
  { id: 'lockUser' },
  { id: 'unlockUser' },
  { id: 'createSession' },
  { id: 'listLogins' },
  { id: 'endLogin', before: async ({ known }) => Object.assign(known, { loginId: known.sessionId }) },
  { id: 'createSession' },
  { id: 'deleteSession' },
  { id: 'endLogins' },
  { id: 'deleteUser', before: async ({ world }) => world.api.call('POST', '/v2beta/users/human', CLEO), ...onCleo },
  { id: 'eraseUser', before: async ({ world }) => world.api.call('POST', '/v2beta/users/human', CLEO), ...onCleo },

  { id: 'createMachineUser' },
  { id: 'addPat' },
  { id: 'listPats' },
  { id: 'removePat' },
  { id: 'addKey' },
  { id: 'listKeys' },
  { id: 'removeKey' },
  { id: 'setSecret' },
  { id: 'removeSecret' },
  { id: 'addOrgMember' },
  { id: 'searchOrgMembers' },
  { id: 'removeOrgMember', ...onMachine },
  { id: 'addInstanceMember' },
  { id: 'searchInstanceMembers' },
  { id: 'removeInstanceMember', ...onMachine },

  { id: 'addPasswordAgePolicy' },
  { id: 'getPasswordAgePolicy' },
  { id: 'updatePasswordAgePolicy' },
  { id: 'getDefaultPasswordAgePolicy' },
  { id: 'getInstancePasswordAgePolicy' },
  { id: 'updateDefaultPasswordAgePolicy' },
  { id: 'resetPasswordAgePolicy' },
  { id: 'addPasswordComplexityPolicy' },
  { id: 'getPasswordComplexityPolicy' },
  { id: 'updatePasswordComplexityPolicy' },
  { id: 'getDefaultPasswordComplexityPolicy' },
  { id: 'getInstancePasswordComplexityPolicy' },
  { id: 'updateDefaultPasswordComplexityPolicy' },
  { id: 'resetPasswordComplexityPolicy' },
  { id: 'addLoginPolicy' },
  { id: 'getLoginPolicy' },
  { id: 'updateLoginPolicy' },
  { id: 'getDefaultLoginPolicy' },
  { id: 'getInstanceLoginPolicy' },
  { id: 'resetLoginPolicy' },
  { id: 'updateDefaultLoginPolicy' },

  { id: 'addClient' },
  { id: 'listClients' },
  { id: 'updateClient' },
  { id: 'removeClient' },

  { id: 'addPasswordSource' },
  { id: 'listPasswordSources' },
  { id: 'getPasswordSource' },
  { id: 'getPasswordSourceStatus' },
  { id: 'testPasswordSource', before: toRefuse },
  { id: 'endPasswordSource' },
  { id: 'removePasswordSource' },
  { id: 'addPasswordSource', example: 'http' },
  { id: 'changePasswordSource', example: 'a new secret' },
  // Later tests call operations on it.
  { id: 'addPasswordSource', example: 'ldap' },
  { id: 'changePasswordSource', example: 'ldap' },

  { id: 'searchEvents' },
  { id: 'exportEvents' },

  { id: 'getDiagnostics' },
  { id: 'listWorkers', before: aWorker },

  { id: 'importHumanUser' },
  { id: 'importUsers' },
  { id: 'importUsers', headers: { prefer: 'wait=20' } },
  { id: 'createImport' },
  { id: 'createImportFile', headers: { 'upload-length': '2' } },
  { id: 'getImportFile', before: asFile },
  {
    id: 'sendImportFile',
    headers: { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
    body: () => '{}',
  },
  { id: 'guessImport' },
  { id: 'convertImport', example: 'as recognized' },
  { id: 'checkImport', before: toDraft },
  { id: 'startImport', before: toDraft },
  { id: 'createImport' },
  { id: 'createImportFile', headers: { 'upload-length': '2' } },
  { id: 'removeImportFile', before: asFile },
  { id: 'discardImport' },
  { id: 'importUsers', headers: { prefer: 'wait=20' } },
  { id: 'listImports' },
  { id: 'getImport' },
  { id: 'listImportItems' },
  { id: 'getImportRates' },
  { id: 'streamImportEvents' },
  { id: 'getImportReport' },
  { id: 'pauseImport', before: toRun },
  { id: 'cancelImport' },
  { id: 'resumeImport' },
  { id: 'retryImport', before: toEnd },
  { id: 'sendImportMails', before: toEnd },
  { id: 'getImportItem', before: toFailed },
  { id: 'fixImportItem' },
  { id: 'listImportCauses' },
  { id: 'fixImport' },
  { id: 'previewImportUndo' },
  { id: 'undoImport', before: toEnd },
];

/** A password source at a private address is not asked. */
async function toRefuse({ world, known }: Context): Promise<void> {
  await world.api.deps.pool.query(
    `update password_sources set settings = settings || '{"endpoint": "http://127.0.0.1:1/"}' where id = $1`,
    [known.sourceId],
  );
}

/** A worker would have converted the files. */
async function toDraft({ world, known }: Context): Promise<void> {
  const orgs = [{ orgId: 'acme', total: 1, failed: 0 }];
  const summary = { users: 1, notes: [], skipped: [], broken: [], unusedHashes: 0 };
  const result = { source: 'csv', title: 'CSV', total: 1, failed: 0, orgs, summary, broken: 0, warnings: [] };
  await world.api.deps.pool.query(
    `update import_drafts set state = 'draft', conversion = null, result = $2 where import_id = $1`,
    [known.importId, JSON.stringify({ ...result, hasDuplicates: false, slowestMs: 0, hashes: [] })],
  );
}

async function asFile({ world, known }: Context): Promise<void> {
  const { rows } = await world.api.deps.pool.query('select file_id from import_files where import_id = $1', [
    known.importId,
  ]);
  known.fileId = rows[0].file_id;
}

/** A real one would need the queue. */
function aWorker({ world }: Context): Promise<void> {
  const own: WorkerIdentity = {
    id: 'w',
    host: 'worker-1',
    pid: 7,
    version: '0.1.0',
    roles: ['import'],
    backend: 'redis',
    shards: 1,
  };
  const state = { isStopping: false, importJobs: 3, mailJobs: 0, usersPerSecond: 0.5, failing: ['mail relay'] };
  return reportWorker(world.api.deps.pool, own, state, 10);
}

function toRun({ world, known }: Context): Promise<void> {
  return setImport(world.api.deps.pool, known.importId ?? '', { state: "'running'" });
}

function toEnd({ world, known }: Context): Promise<void> {
  return setImport(world.api.deps.pool, known.importId ?? '', { state: "'completed_with_errors'" });
}

/** The first user of the import has failed, with an entry that can be corrected. */
async function toFailed({ world, known }: Context): Promise<void> {
  const { pool, secrets } = world.api.deps;
  await setImport(pool, known.importId ?? '', {
    state: "'completed_with_errors'",
    failed: '1',
    succeeded: 'total - 1',
  });
  const profile = { firstName: 'Wile E.', lastName: 'Coyote' };
  const { error, entrySealed } = validateEntry(
    { user: { profile } },
    secrets,
    { unknown() {} },
    USUAL_RULES,
  ) as FailedItem;
  await pool.query(
    `update import_items set state = 'failed', error = $2, entry_sealed = $3 where import_id = $1 and ordinal = 0`,
    [known.importId, JSON.stringify(error), entrySealed],
  );
}

const CLEO = {
  userId: 'cleo',
  username: 'cleo',
  organization: { orgId: 'acme' },
  profile: { givenName: 'Cleo', familyName: 'Clark' },
  email: { email: 'cleo@acme.example' },
};

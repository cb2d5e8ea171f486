/**
 * What must precede the call of an operation with its examples, in the order of the document. An operation that needs
 * nothing but what operations before it have left has no entry.
 */
import type { FailedItem } from '../../src/imports/entries/item.ts';
import { USUAL_RULES, validateEntry } from '../../src/imports/entries/validate.ts';
import { reportWorker, type WorkerIdentity } from '../../src/imports/status/workers.ts';
import { tokenHash } from '../../src/platform/ids.ts';
import { tripSeal } from '../../src/signin/providers/store.ts';
import { setImport } from '../support/imports/imports.ts';
import { codeAt } from '../support/totp.ts';
import type { World } from './world.ts';

export interface Context {
  world: World;
  /** Ids and codes from responses, by the name of their parameter. */
  known: Record<string, string>;
  /** Calls an operation with one of its examples; default: the last. Ids of the response become known. */
  make(id: string, options?: Call): Promise<void>;
}

export interface Call {
  example?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Null: no token. */
  token?: null;
}

export interface Need {
  /** Before each example. */
  before?: (context: Context, example: string) => unknown;
  /** After all of them. */
  after?: (context: Context) => unknown;
  /** Values of parameters that override the known ones. */
  at?: Record<string, string>;
  headers?: Record<string, string>;
  /** Instead of the example, where it needs a value that is only known now. */
  body?: (known: Context['known']) => unknown;
}

const withCode: Need = { body: ({ verificationCode }) => ({ verificationCode }) };
const onMachine: Need = { at: { userId: 'importer' } };
const onCleo: Need = {
  at: { userId: 'cleo' },
  before: ({ world }) => world.api.call('POST', '/v2beta/users/human', CLEO),
};
/** Somebody whom codes reach. */
const reached: Need = {
  before: async ({ world, known }) => {
    const text = `update users set email_verified = true, phone = '+41791234567', phone_verified = true where id = $1`;
    await world.api.deps.pool.query(text, [known.userId]);
  },
};
const PIECE = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
const WAIT = { prefer: 'wait=20' };

export const NEEDS: Readonly<Record<string, Need>> = {
  deleteUser: onCleo,
  eraseUser: onCleo,
  verifyEmail: withCode,
  verifyPhone: withCode,
  resetPassword: {
    after: ({ make, known: { verificationCode } }) =>
      make('setPassword', { token: null, body: { newPassword: { password: PASSWORD }, verificationCode } }),
  },
  removeTotpApp: { before: ({ make }) => make('addTotp') },
  makeRecoveryCodes: {
    before: async ({ make, known }) => {
      await make('addTotp');
      await make('verifyTotp', { body: { code: codeAt(known.secret ?? '') } });
    },
  },
  addOtpSms: reached,
  addOtpEmail: reached,
  verifyTotp: { body: ({ secret }) => ({ code: codeAt(secret ?? '') }) },
  removeUserLink: {
    before: ({ known }) => {
      known.linkedUserId = '104711';
      known.idpId ??= 'google';
    },
    at: { idpId: 'google' },
  },
  removeOrgMember: onMachine,
  removeInstanceMember: onMachine,
  endLogin: {
    before: async ({ make, known }) => {
      await make('createSession');
      known.loginId = known.sessionId ?? '';
    },
  },

  updateSession: { before: askForCode, body: ({ otp }) => ({ checks: { otpEmail: { code: otp } } }) },
  // Later tests call operations on a session.
  endLogins: { after: ({ make }) => make('createSession') },

  startIdpIntent: { before: aProvider, body: intentOf },
  retrieveIdpIntent: { before: anIntent, body: () => ({ idpIntentToken: INTENT_TOKEN }) },

  importUsers: { after: ({ make }) => make('importUsers', { headers: WAIT }) },
  getImportItem: { before: toFailed },
  // An import whose counts are its own again.
  fixImport: { after: ({ make }) => make('importUsers', { headers: WAIT }) },
  cancelImport: { before: (context) => toState(context, 'running') },
  pauseImport: { before: (context) => toState(context, 'running') },
  retryImport: { before: toEnd },
  sendImportMails: { before: toEnd },
  previewSignInMails: { before: toEnd },
  sendSignInMails: { before: toEnd, body: () => ({}) },
  undoImport: { before: toEnd },
  previewImportUndo: { before: toEnd },
  guessImport: { before: withFile },
  convertImport: { before: withFile },
  checkImport: { before: toDraft },
  previewImportMails: { before: toDraft },
  listEarlierImports: { before: toDraft },
  tryImportPassword: { before: toDraft },
  startImport: { before: toDraft },
  discardImport: { before: ({ make }) => make('createImport') },
  createImportFile: { before: ({ make }) => make('createImport'), headers: { 'upload-length': '2' }, after: asFile },
  sendImportFile: { headers: PIECE, body: () => '{}' },
  // Later tests read an import.
  removeImportFile: { after: ({ make }) => make('importUsers', { headers: WAIT }) },

  changePasswordSource: {
    before: ({ make }, name) => make('addPasswordSource', { example: name === 'ldap' ? name : 'http' }),
  },
  testPasswordSource: { before: toRefuse },
  // Later tests call operations on it.
  removePasswordSource: { after: ({ make }) => make('addPasswordSource', { example: 'ldap' }) },
  // Of the organization: later tests call operations on it.
  removeInstanceIdp: { after: ({ make }) => make('addIdp', { example: 'Google' }) },
  listWorkers: { before: aWorker },
};

const INTENT_TOKEN = 'a-token-of-an-intent';

/** A provider that needs no discovery; `known.idpId` stays another one. */
async function aProvider({ world, known }: Context): Promise<void> {
  if (known.intentIdpId) return;
  const idp = { type: 'github', clientId: 'muster', clientSecret: 'secret', aliases: ['of-intents'] };
  const { body } = await world.api.call('POST', '/management/v1/idps', idp, { orgId: 'acme' });
  known.intentIdpId = body.idpId;
  known.baseUrl = world.api.deps.config.baseUrl;
}

function intentOf({ intentIdpId, baseUrl }: Readonly<Record<string, string>>) {
  return { idpId: intentIdpId, urls: { successUrl: `${baseUrl}/done`, failureUrl: `${baseUrl}/failed` } };
}

/** An intent from which the browser has come back. */
async function anIntent(context: Context): Promise<void> {
  const { world, known } = context;
  await aProvider(context);
  await world.api.call('POST', '/v2beta/idp_intents', intentOf(known));
  const { pool, secrets } = world.api.deps;
  const { rows } = await pool.query<{ id: string }>('select id from idp_round_trips order by expires_at desc limit 1');
  known.idpIntentId = rows[0]?.id ?? '';
  const identity = { subjects: ['7001'], emailVerified: false, amr: [], claims: { id: 7001 } };
  await pool.query(
    'update idp_round_trips set result_sealed = $2, token_hash = $3, finished_at = now() where id = $1',
    [
      known.idpIntentId,
      secrets.seal(JSON.stringify({ identity }), tripSeal(known.idpIntentId)),
      tokenHash(INTENT_TOKEN),
    ],
  );
}

/** A session of a user without a password that waits for its code. */
async function askForCode({ world: { api }, known }: Context): Promise<void> {
  const human = {
    userId: 'dora',
    organization: { orgId: 'acme' },
    profile: { givenName: 'Dora', familyName: 'Dale' },
    email: { email: 'dora@acme.example', isVerified: true },
  };
  await api.call('POST', '/v2beta/users/human', human);
  const challenges = { otpEmail: { returnCode: {} } };
  const { body } = await api.call('POST', '/v2beta/sessions', { checks: { user: { userId: 'dora' } }, challenges });
  Object.assign(known, { sessionId: body.sessionId, otp: body.challenges.otpEmail });
}

/** A password source at a private address is not asked. */
async function toRefuse({ world, known }: Context): Promise<void> {
  await world.api.deps.pool.query(
    `update password_sources set settings = settings || '{"endpoint": "http://127.0.0.1:1/"}' where id = $1`,
    [known.sourceId],
  );
}

/** A new draft with a file. */
async function withFile(context: Context): Promise<void> {
  await context.make('createImport');
  await context.make('createImportFile', { headers: { 'upload-length': '2' } });
  await asFile(context);
  await context.make('sendImportFile', { headers: PIECE, body: '{}' });
}

/** A worker would have converted the files. */
async function toDraft(context: Context): Promise<void> {
  await context.make('createImport');
  const orgs = [{ orgId: 'acme', total: 1, failed: 0 }];
  const summary = { users: 1, notes: [], skipped: [], broken: [], unusedHashes: 0 };
  const result = { source: 'csv', title: 'CSV', total: 1, failed: 0, orgs, summary, broken: 0, warnings: [] };
  await context.world.api.deps.pool.query(
    `with preparation as (update import_preparations set conversion = null, result = $2 where import_id = $1)
     update imports set state = 'draft' where id = $1`,
    [context.known.importId, JSON.stringify({ ...result, hasDuplicates: false, slowestMs: 0, hashes: [] })],
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
    ...{
      id: 'w',
      host: 'worker-1',
      pid: 7,
      version: '0.1.0',
      schema: 219,
      roles: ['import'],
      backend: 'redis',
      shards: 1,
    },
  };
  const state = { isStopping: false, importJobs: 3, mailJobs: 0, usersPerSecond: 0.5, failing: ['mail relay'] };
  return reportWorker(world.api.deps.pool, own, state, 10);
}

function toState({ world, known }: Context, state: string): Promise<void> {
  return setImport(world.api.deps.pool, known.importId ?? '', { state: `'${state}'` });
}

function toEnd(context: Context): Promise<void> {
  return toState(context, 'completed_with_errors');
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

const PASSWORD = 'correct horse battery staple';
const CLEO = {
  ...{ userId: 'cleo', username: 'cleo', organization: { orgId: 'acme' } },
  profile: { givenName: 'Cleo', familyName: 'Clark' },
  email: { email: 'cleo@acme.example' },
};

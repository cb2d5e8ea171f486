/**
 * Examples of imports for the OpenAPI document: two users, one of whom gets a mail, their results, and a cause of
 * failures.
 */
import { exampleCreated } from './shapes.ts';

const hashed = { value: '$2b$10$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC' };
export const exampleUser = {
  userName: 'fay',
  profile: { firstName: 'Fay', lastName: 'Fox' },
  email: { email: 'fay@acme.example', isEmailVerified: true },
  hashedPassword: hashed,
};
const eve = {
  userName: 'eve',
  profile: { firstName: 'Eve', lastName: 'Evans', preferredLanguage: 'en', gender: 'GENDER_FEMALE' },
  email: { email: 'eve@acme.example' },
  phone: { phone: '+41 79 123 45 67', isPhoneVerified: true },
  metadata: [{ key: 'plan', value: 'Z29sZA==' }],
  idps: [{ configId: 'google', externalUserId: '1157', displayName: 'Eve' }],
};
const users = [
  { userId: 'auth0|60425dc4', user: { ...exampleUser, userName: 'fay.fox' } },
  { userId: 'auth0|60425dc5', state: 'USER_STATE_ACTIVE', user: eve },
];
export const exampleBody = { dataOrgs: { orgs: [{ orgId: 'acme', humanUsers: users }] }, timeout: '30m0s' };

const none = { total: 2, pending: 0, succeeded: 0, skipped: 0, failed: 0, timedOut: 0, cancelled: 0, undone: 0 };
const done = { ...none, succeeded: 2 };
export const exampleAccepted = {
  importId: '17',
  state: 'IMPORT_STATE_RUNNING',
  counts: { ...none, pending: 2 },
  deadline: '2026-01-31T12:30:00.000Z',
  details: exampleCreated,
};
export const exampleProgress = {
  ...exampleAccepted,
  state: 'IMPORT_STATE_SUCCEEDED',
  counts: done,
  dryRun: false,
  timeout: '30m0s',
  startDate: '2026-01-31T12:00:00.000Z',
  mails: { pending: 0, held: 0, sent: 1, failed: 0 },
  usersPerSecond: 12.5,
  eta: null,
  orgs: [{ orgId: 'acme', counts: done }],
};
export const exampleResult = {
  ...exampleProgress,
  warnings: [],
  errors: [],
  success: { orgs: [{ orgId: 'acme', humanUserIds: ['auth0|60425dc4', 'auth0|60425dc5'] }] },
};
export const exampleEvent = `id: 1\ndata: ${JSON.stringify(exampleProgress)}\n\n`;

/** The users of `exampleBody`, one per line. */
export const exampleBodyLines = users.map((user) => `${JSON.stringify({ orgId: 'acme', ...user })}\n`).join('');

const succeeded = {
  index: 0,
  orgId: 'acme',
  userId: 'auth0|60425dc4',
  userName: 'fay.fox',
  state: 'ITEM_STATE_SUCCEEDED',
  signIn: { way: 'PASSWORD', changes: [] },
};
export const exampleLines = `${JSON.stringify(succeeded)}\n`;
export const exampleCsv =
  'index,orgId,userId,userName,state,kept,code,id,message,fields,signInWay,signInCause,signInChanges\r\n' +
  '0,acme,auth0|60425dc4,fay.fox,ITEM_STATE_SUCCEEDED,,,,,,PASSWORD,,\r\n';

export const exampleRates = {
  points: [{ at: '2026-01-31T12:00:01.000Z', seconds: 1, succeeded: 2, skipped: 0, failed: 0, usersPerSecond: 2 }],
};
export const exampleSignIns = {
  signedIn: 1,
  notYet: 1,
  ways: { PASSWORD: 1 },
  days: [{ day: '2026-02-01', ways: { PASSWORD: 1 } }],
  mails: { askedAt: '2026-02-03T09:00:00.000Z', state: 'WRITTEN' as const, users: 1, sent: 1, failed: 0 },
};
export const exampleSignInMailsPreview = { users: 1, reasons: [{ reason: 'SIGNED_IN' as const, users: 1 }] };
export const exampleUndoPreview = { removed: 1, kept: 1, reasons: [{ reason: 'SIGNED_IN', users: 1 }] };

const noUsers = { ...none, total: 0 };
export const exampleDraft = {
  ...exampleResult,
  state: 'IMPORT_STATE_UPLOADING',
  counts: noUsers,
  timeout: '',
  startDate: undefined,
  deadline: '2026-02-01T12:00:00.000Z',
  mails: { pending: 0, held: 0, sent: 0, failed: 0 },
  usersPerSecond: 0,
  orgs: [{ orgId: 'acme', counts: noUsers }],
  success: { orgs: [] },
  draft: {
    createdBy: 'ann',
    expiresAt: '2026-02-01T12:00:00.000Z',
    orgId: 'acme',
    files: [],
    source: '',
  },
};

export const exampleMailsPreview = {
  from: 'Acme <no-reply@acme.example>',
  domain: 'acme.example',
  server: 'SMTP' as const,
  spf: 'FOUND' as const,
  language: 'en',
  orgId: 'acme',
  orgs: [
    { orgId: 'acme', name: 'Acme', mails: 12_000 },
    { orgId: 'globex', name: 'Globex', mails: 340 },
  ],
  moreOrgs: 0,
  kinds: { verification: 12_340, initialisation: 0, passkey: 0 },
  mails: [
    {
      kind: 'verification' as const,
      language: 'en',
      users: 12_000,
      subject: 'Acme: Confirm your email address',
      text: 'Hello,\n\nYour account at Acme was set up with this email address. Please confirm that it is yours.\n',
      html: '<!doctype html>\n<html lang="en" dir="ltr">…</html>\n',
      validForSeconds: 259_200,
    },
  ],
};

export const exampleEarlierImports = {
  imports: [
    {
      importId: '22',
      fileName: 'people.csv',
      state: 'IMPORT_STATE_SUCCEEDED',
      startDate: '2026-05-03T09:30:00.000Z',
      users: 12_000,
      orgIds: ['acme'],
    },
  ],
};

export const exampleGuess = {
  source: 'csv',
  candidates: [{ source: 'csv', title: 'CSV of your own', certainty: 0.05 }],
  files: [
    {
      fileId: '0199',
      name: 'people.csv',
      kind: 'users',
      isHashes: false,
      format: 'csv',
      encoding: 'windows-1252',
      alsoFits: ['windows-1250'],
      doubtful: 0,
      isGzip: false,
      delimiter: ';',
      columns: [
        { name: 'Mail', samples: [{ text: 'fay@acme.example' }], becomes: 'email' },
        { name: 'Kennwort', samples: [{ hidden: 'bcrypt' }], becomes: '' },
      ],
    },
  ],
  mapping: { email: 'Mail' },
  namesOrganizations: false,
};

const user = { index: 17, orgId: 'acme', userId: 'wcoyote', userName: 'wcoyote' };
export const exampleCauses = {
  failed: 24,
  corrected: 0,
  causes: [
    {
      cause: '5f2b8c01',
      id: 'IMPORT-USER-INVALID',
      field: 'user.email.email',
      message: 'is required',
      remedies: ['user-name-as-email', 'leave-out'],
      fixes: [{ remedy: 'user-name-as-email', users: 24 }],
      examined: 24,
      count: 24,
      first: [user],
    },
  ],
  moreCauses: 0,
  asOf: '2026-01-31T12:00:00.000Z',
};
export const exampleFailedItem = {
  ...user,
  state: 'ITEM_STATE_FAILED',
  entry: {
    userId: 'wcoyote',
    user: {
      userName: 'wcoyote',
      profile: { firstName: 'Wile E.', lastName: 'Coyote' },
      email: { email: 'wile@acme.example' },
      hashedPassword: { scheme: 'bcrypt' },
    },
  },
};
export const examplePatch = { user: { email: { email: 'wile@acme.example' } } };
export const exampleFixed = {
  code: 9,
  message: 'The entry was corrected. Retry the import to import this user.',
  details: [
    {
      '@type': 'type.googleapis.com/service.v1.ErrorDetail',
      id: 'IMPORT-USER-FIXED',
      message: 'The entry was corrected. Retry the import to import this user.',
    },
  ],
};
export const exampleFix = { cause: '5f2b8c01', remedy: 'user-name-as-email', domain: 'acme.example', dryRun: true };

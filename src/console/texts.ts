/** Every text of the console, by screen, so that they can be read, corrected and translated in one place. */

export const FRAME = {
  product: 'Muster',
  skip: 'Skip to content',
  navigation: 'Main',
  signOut: 'Sign out',
  imports: 'Imports',
  users: 'Users',
  organizations: 'Organizations',
  clients: 'Clients',
  system: 'System',
};

export const SIGN_IN = {
  outTitle: 'Signed out',
  out: { heading: 'You are signed out', message: 'You can close this page.' },
  failedTitle: 'Sign-in not completed',
  failed: {
    heading: 'The sign-in was not completed',
    message: 'It took too long, was cancelled, or began in another browser. Nothing has changed.',
  },
  again: 'Sign in again',
};

export const USERS = {
  title: 'Users',
  text: 'Search',
  by: 'By',
  anyKind: 'Anything',
  kinds: { name: 'Beginning of user name', login: 'Login name', email: 'Email address', id: 'User id' },
  /** After "3 users". */
  matching: {
    name: 'whose user name begins with this text',
    login: 'with this login name',
    email: 'with this email address',
    id: 'with this id',
  },
  beginning: (text: string) => `Show users whose user name begins with “${text}”`,
  state: 'State',
  anyState: 'Any state',
  organization: 'Organization',
  anyOrganization: 'All organizations',
  search: 'Search',
  caption: 'Users, in the order of their user names',
  name: 'Name',
  loginName: 'Login name',
  email: 'Email',
  changed: 'Changed',
  unverified: 'not verified',
  found: (count: string, isOne: boolean) => `${count} ${isOne ? 'user' : 'users'}`,
  about: (count: string) => `about ${count}`,
  next: 'Next users',
  first: 'First users',
  emptyHeading: 'No users yet',
  empty: 'Users appear here when an import or the API has created them.',
  noneHeading: 'No user matches',
  none: 'Login names, email addresses and ids must match in full. Of a user name, the beginning is enough.',
  showAll: 'Show all users',
};

/** By state, without `USER_STATE_`. */
export const USER_STATES: Readonly<Record<string, { name: string; look: string }>> = {
  ACTIVE: { name: 'Active', look: 'good' },
  INITIAL: { name: 'Not activated', look: 'warn' },
  LOCKED: { name: 'Locked', look: 'bad' },
  INACTIVE: { name: 'Deactivated', look: 'still' },
};

export const USER = {
  human: 'Person',
  machine: 'Machine user',
  actions: 'Actions',
  account: 'Account',
  names: 'Login names',
  id: 'User id',
  userName: 'User name',
  givenName: 'Given name',
  familyName: 'Family name',
  nickName: 'Nickname',
  language: 'Language',
  description: 'Description',
  phone: 'Phone',
  verified: 'verified',
  password: 'Password',
  hasPassword: 'Set',
  noPassword: 'None yet',
  mustChange: 'Must be changed at the next sign-in',
  lastLogin: 'Last sign-in',
  never: 'Never',
  created: 'Created',
  import: 'Created by',
  importNumber: (id: string) => `Import ${id}`,
  notImported: 'Not by an import',
  links: 'Linked accounts',
  noLinks: 'None.',
  metadata: 'Metadata keys',
  noMetadata: 'None.',
  tokens: 'Tokens',
};

const STOPPED = 'All sessions of the user end now, and their tokens no longer work.';
const firstPassword = 'The user has no password, so they still need the link of a mail to choose one.';

/** Actions on a user: the button, what it will do, and what it has done. */
export const USER_ACTIONS = {
  unlock: {
    button: 'Unlock',
    title: (name: string) => `Unlock ${name}`,
    effects: (hasPassword: boolean) => ['The user can sign in again.', ...(hasPassword ? [] : [firstPassword])],
    done: 'The user is unlocked.',
  },
  reactivate: {
    button: 'Reactivate',
    title: (name: string) => `Reactivate ${name}`,
    effects: (hasPassword: boolean) => ['The user can sign in again.', ...(hasPassword ? [] : [firstPassword])],
    done: 'The user is active again.',
  },
  resend: {
    button: 'Resend mail',
    title: (name: string) => `Send the mail to ${name} again`,
    effects: (address: string, isInitial: boolean) => [
      isInitial
        ? `A mail goes to ${address}. Its link confirms the address and lets the user choose their first password.`
        : `A mail goes to ${address}. Its link confirms the address.`,
      'Links of earlier mails of this kind no longer work.',
    ],
    done: 'The mail is on its way.',
  },
  reset: {
    button: 'Reset password',
    title: (name: string) => `Reset the password of ${name}`,
    effects: (address: string, mail: 'first' | 'verify' | 'new') => [
      {
        first: `A mail goes to ${address}. Its link lets the user choose their first password.`,
        verify: `A mail goes to ${address}. Its link confirms the address, which is needed before a password can be reset.`,
        new: `A mail goes to ${address}. Its link lets the user choose a new password.`,
      }[mail],
      'Nothing else changes: a password that the user has works until they choose another.',
    ],
    done: 'The mail is on its way.',
  },
  lock: {
    button: 'Lock',
    title: (name: string) => `Lock ${name}`,
    effects: () => [STOPPED, 'They cannot sign in until somebody unlocks them.', 'Their data stays.'],
    done: 'The user is locked.',
  },
  deactivate: {
    button: 'Deactivate',
    title: (name: string) => `Deactivate ${name}`,
    effects: () => [STOPPED, 'They cannot sign in until somebody reactivates them.', 'Their data stays.'],
    done: 'The user is deactivated.',
  },
  delete: {
    button: 'Delete',
    title: (name: string) => `Delete ${name}`,
    effects: () => [
      STOPPED,
      'The user is removed with their password, roles, links and metadata. This cannot be taken back.',
      'The user id and the user name become free for others.',
    ],
    done: 'The user is deleted.',
  },
};

export const USER_CONFIRM = {
  back: 'Back, change nothing',
  type: (userName: string) => `Type the user name to confirm: ${userName}`,
  wrong: 'This is not the user name.',
  self: 'This is your own account: you will be signed out at once.',
};

export const SYSTEM = {
  title: 'System',
  readAt: 'Read at',
  findings: 'What was checked',
  workers: 'Workers',
  noWorkers: 'No worker runs. Imports and mails wait until one starts: npm run worker',
  worker: 'Worker',
  state: 'State',
  roles: 'Roles',
  importJobs: 'Import jobs',
  mailJobs: 'Mail jobs',
  speed: 'Users per second',
  perSecond: (rate: string) => `${rate}/s`,
  started: 'Started',
  ago: (time: string) => `${time} ago`,
  process: (pid: number, version: string) => `process ${pid}, version ${version}`,
  running: 'Running',
  stopping: 'Stopping',
  failing: (parts: string) => `Fails: ${parts}`,
  queue: 'Queue',
  backend: 'Jobs are in',
  backends: { redis: 'Redis', postgres: 'PostgreSQL' },
  answers: 'Answers',
  dispatcher: 'Dispatcher',
  backlog: 'Users waiting',
  importWorkers: 'Import workers',
  mailWorkers: 'Mail workers',
  redis: 'Redis',
  database: 'Database',
  version: 'Version',
  size: 'Size',
  connections: 'Connections',
  migrations: 'Migrations',
  replica: 'Replica',
  behind: (bytes: string) => `${bytes} behind`,
  deliveries: 'Mails and webhooks',
  mailServer: 'Mail server',
  mailFiles: 'None: mails are kept as files',
  outbox: 'Mails waiting',
  mailsFailed: 'Mails failed in 7 days',
  webhooks: 'Webhooks waiting',
  webhooksFailed: 'Webhooks failed in 7 days',
  service: 'Service',
  maxImport: 'Largest import',
  maxTimeout: 'Longest time limit',
  requests: 'Requests a second, by address',
  logins: 'Sign-ins a minute, by address',
  unlimited: 'no limit',
  ofMost: (part: string, most?: string) => (most ? `${part} of ${most}` : part),
  yes: 'Yes',
  no: 'No',
  works: 'Works',
  missing: 'No worker has this role',
  silent: 'Does not answer',
};

/** What was checked, by the state of the finding. */
export const FINDING_STATES = {
  ok: { name: 'OK', look: 'good' },
  skipped: { name: 'Not checked', look: 'still' },
  warning: { name: 'Warning', look: 'warn' },
  problem: { name: 'Problem', look: 'bad' },
};

export const ONCE = {
  title: 'Copy it now',
  warning: 'This is shown only now. Copy it to a safe place before you leave this page.',
  done: 'I have copied it',
};

export const ORGS = {
  title: 'Organizations',
  create: 'New organization',
  createEffect:
    'The organization begins without users. The domain is the part of its login names after the @ and stays as it is.',
  name: 'Name',
  domain: 'Domain',
  domainHint: 'Such as acme.example. If you leave it empty, one is made from the name.',
  domainMeaning: (domain: string) => `Its users can sign in as name@${domain}.`,
  id: 'Organization id',
  search: 'Name, domain or id',
  find: 'Search',
  found: (count: string, isOne: boolean) => `${count} ${isOne ? 'organization' : 'organizations'}.`,
  before: 'Previous organizations',
  next: 'Next organizations',
  none: 'No organization found',
  noneHint: 'Names, domains and ids must match in full.',
  users: 'Users',
  newMachine: 'New machine user',
  machineEffect:
    'A machine user is the account of a program. It cannot do anything before you give it a role and a token.',
  userName: 'User name',
  description: 'Description',
  done: {
    created: 'The organization is created.',
    added: 'The member is added.',
    removed: 'The member is removed.',
  },
};

export const MEMBERS = {
  title: 'Members',
  none: 'Nobody has a role here, except the administrators of the service.',
  more: (shown: number, total: number) => `The first ${shown} of ${total} are shown.`,
  user: 'User',
  userId: 'User id',
  userIdHint: 'The page of a user shows it.',
  unknown: 'You can see no user with this id.',
  role: 'Role',
  roles: 'Roles',
  since: 'Since',
  action: 'Action',
  add: 'Add member',
  remove: 'Remove',
  back: 'Back, change nothing',
  names: {
    ORG_OWNER: 'Owner',
    ORG_USER_MANAGER: 'User manager',
    ORG_OWNER_VIEWER: 'Viewer',
  } as Readonly<Record<string, string>>,
  effects: {
    ORG_OWNER: 'An owner imports and manages users, members and tokens of this organization.',
    ORG_USER_MANAGER: 'A user manager creates, changes, locks and deletes its users.',
    ORG_OWNER_VIEWER: 'A viewer sees its users and changes nothing.',
  },
  removeTitle: (name: string) => `Remove ${name}`,
  removeEffect: (organization: string) => `They lose all their roles on ${organization} at once.`,
  removeStays: 'Their account stays, and they can still sign in.',
  removeSelf: 'This is your own membership: you may no longer see this organization.',
};

export const CLIENTS = {
  title: 'Clients',
  create: 'New client',
  createEffect:
    'The client can ask people to sign in at once. Its secret, if it has one, is shown once on the next page.',
  none: 'No clients yet',
  noneHint: 'A client is an application that people sign in to with their account here.',
  name: 'Name',
  nameHint: 'People see it when they sign in.',
  id: 'Client id',
  secret: 'Client secret',
  kind: 'Kind',
  kinds: {
    web: 'Web application with a server (secret)',
    native: 'App in a browser or on a device (no secret)',
    service: 'Program without people (secret)',
  },
  redirectUris: 'Redirect URIs',
  logoutUris: 'Redirect URIs after signing out',
  linesHint: 'One on each line.',
  created: 'Created',
  action: 'Action',
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}`,
  removeEffects: [
    'Nobody can sign in to this application any more.',
    'All tokens that it got stop working at once.',
    'A new client gets another id and another secret. This cannot be taken back.',
  ],
  back: 'Back, change nothing',
};

export const TOKENS = {
  title: 'Tokens',
  none: 'This machine user has no token.',
  add: 'New token',
  effect: (name: string) => `Whoever has the token can do everything that ${name} may do.`,
  onceHint: 'It is shown once, on the next page.',
  lifetime: 'Ends after',
  days: (days: string) => `${days} days`,
  forever: 'never',
  never: 'Never',
  id: 'Token id',
  token: 'Token',
  created: 'Created',
  ends: 'Ends',
  action: 'Action',
  remove: 'Remove',
  removeTitle: 'Remove token',
  removeEffect: (name: string) =>
    `Programs that sign in as ${name} with this token fail at once. This cannot be taken back.`,
  back: 'Back, change nothing',
};

export const ERRORS = {
  400: { heading: 'This request cannot be carried out', message: 'Please check your input and try again.' },
  401: { heading: 'Your session has ended', message: 'Sign in again to continue where you were.' },
  403: { heading: 'You do not have access to this', message: 'It does not exist, or your role does not include it.' },
  404: { heading: 'Not found', message: 'It does not exist or no longer exists.' },
  409: { heading: 'It has changed in the meantime', message: 'Reload the page and try again.' },
  429: { heading: 'Too many requests', message: 'Please wait a moment, then try again.' },
  500: { heading: 'Something went wrong', message: 'This is an error on our side. Please try again later.' },
  503: {
    heading: 'Please try again in a moment',
    message: 'The service is not available right now. Your data is safe, and imports continue by themselves.',
  },
  form: 'The form was not accepted: it did not come from this console. Reload the page and try again.',
  inputKept: 'Your input is kept: you find it in the form again.',
  inputLost: 'Your input is too long to be kept. Go back in your browser after you have signed in.',
  signIn: 'Sign in again',
  back: 'Back to the console',
  retry: 'Try again',
  reference: 'Reference',
};

export const NO_ROLE = {
  title: 'No access',
  heading: 'You have no role in the console yet',
  signedInAs: (name: string) => `You are signed in as ${name}.`,
  ask: (organization: string) =>
    `To manage users and imports, ask an owner of ${organization}, or the administrator of this service, for the role ORG_OWNER. They need your user id:`,
};

export const LIVE = {
  on: 'Live',
  stale: 'Connection lost since {time}. Reconnecting…',
  ended: 'Your session has ended. Reload the page to sign in again.',
};

export const IMPORTS = {
  title: 'Imports',
  start: 'New import',
  state: 'State',
  all: 'All',
  organization: 'Organization',
  organizations: 'Organizations',
  anyOrganization: 'All organizations',
  filter: 'Filter',
  import: 'Import',
  progress: 'Progress',
  rate: 'Speed',
  failed: 'Failed',
  started: 'Started',
  caption: 'Imports, newest first',
  next: 'Older imports',
  first: 'Newest imports',
  dryRun: 'dry run',
  of: (done: string, total: string) => `${done} of ${total}`,
  perSecond: (rate: string) => `${rate}/s`,
  left: (time: string) => `${time} left`,
  emptyHeading: 'Nothing imported yet',
  empty: 'Move users in from another system: with the command line, which reads the exports of more than 30 systems.',
  noneHeading: 'No import matches the filter',
  showAll: 'Show all imports',
  commands: [
    'muster login',
    'muster import users.json --org <organization> --dry-run',
    'muster import users.json --org <organization> --watch',
  ],
};

/** By state, without `IMPORT_STATE_`. */
export const IMPORT_STATES: Readonly<Record<string, { name: string; look: string }>> = {
  RUNNING: { name: 'Running', look: '' },
  PAUSED: { name: 'Paused', look: 'warn' },
  UNDOING: { name: 'Undoing', look: 'warn' },
  SUCCEEDED: { name: 'Succeeded', look: 'good' },
  COMPLETED_WITH_ERRORS: { name: 'Completed with errors', look: 'bad' },
  TIMED_OUT: { name: 'Timed out', look: 'bad' },
  CANCELLED: { name: 'Cancelled', look: 'still' },
  UNDONE: { name: 'Undone', look: 'still' },
};

/** Of an import that is being prepared. */
export const DRAFT_STATES: typeof IMPORT_STATES = {
  UPLOADING: { name: 'Uploading', look: '' },
  CONVERTING: { name: 'Converting', look: '' },
  UNREADABLE: { name: 'Cannot be read', look: 'bad' },
  DRAFT: { name: 'Draft', look: 'still' },
  CHECKING: { name: 'Checking', look: '' },
  CHECKED: { name: 'Checked', look: 'good' },
  DISCARDED: { name: 'Discarded', look: 'still' },
};

export const ITEM_STATES: Readonly<Record<string, { name: string; look: string }>> = {
  PENDING: { name: 'Pending', look: '' },
  SUCCEEDED: { name: 'Succeeded', look: 'good' },
  SKIPPED: { name: 'Skipped', look: 'still' },
  FAILED: { name: 'Failed', look: 'bad' },
  TIMED_OUT: { name: 'Timed out', look: 'bad' },
  CANCELLED: { name: 'Cancelled', look: 'still' },
  UNDONE: { name: 'Undone', look: 'still' },
};

/** Why an undo keeps a user. */
export const KEPT: Readonly<Record<string, string>> = {
  SIGNED_IN: 'signed in since',
  CHANGED: 'changed since',
  MEMBER: 'got a role since',
  DELETED: 'already deleted',
  NOT_CREATED: 'not created by this import',
};

export const ONE = {
  title: (id: string) => `Import ${id}`,
  progress: 'Progress',
  done: 'Done',
  speed: 'Speed',
  left: 'Time left',
  succeeded: 'Succeeded',
  skipped: 'Skipped',
  failed: 'Failed',
  undone: 'Undone',
  open: 'Open',
  started: 'Started',
  deadline: 'Deadline',
  mails: 'Mails',
  mailsSent: 'Sent',
  mailsPending: 'To be sent',
  mailsHeld: 'Held',
  mailsFailed: 'Failed',
  noMails: 'This import sends no mails.',
  chart: 'Users per second',
  chartTable: 'The chart as a table',
  chartLabel: (max: string, from: string, to: string) => `Users per second from ${from} to ${to}, at most ${max}`,
  noChart: 'The chart begins with the first user.',
  time: 'Time',
  users: 'Users',
  items: 'Users of this import',
  noItems: 'No user matches the filter.',
  row: 'Row',
  user: 'User',
  outcome: 'Outcome',
  anyState: 'Any state',
  search: 'Address, user name or id',
  nextItems: 'Next users',
  firstItems: 'First users',
  events: 'Who did what',
  noEvents: 'The audit log no longer has events of this import.',
  you: 'You',
  system: 'The service',
  downloads: 'Download the report',
  warnings: 'Warnings',
  ignored: (count: string) => `ignored ${count} times`,
  fields: 'Fields that are not known, and were ignored:',
  webhook: 'Webhook',
  missingRoles: (roles: string) => `No worker runs for: ${roles}. The import waits until one starts.`,
  kept: (why: string) => `kept: ${why}`,
  changed: (fields: string) => `changed: ${fields}`,
  dryRun: 'This is a dry run: it checks every user and writes none.',
};

/** What the audit events of an import mean. */
export const EVENTS: Readonly<Record<string, string>> = {
  'import.accepted': 'started the import',
  'import.paused': 'paused it',
  'import.resumed': 'resumed it',
  'import.cancelled': 'cancelled it',
  'import.retried': 'started the failed users again',
  'import.item.corrected': 'corrected a failed user',
  'import.cause.fixed': 'corrected or left out the failed users of a cause',
  'import.mails.released': 'sent the held mails',
  'import.undo.started': 'started the undo',
  'import.undone': 'finished the undo',
  'import.erased': 'erased the data of users that were not written',
};

const users = (count: number) => (count === 1 ? '1 user' : `${count.toLocaleString('en')} users`);
const mails = (count: number) => (count === 1 ? '1 mail' : `${count.toLocaleString('en')} mails`);

/** Actions on an import: the button, what it will do in numbers, and what it has done. */
export const ACTIONS = {
  back: 'Back to the import',
  timeout: 'Time limit from now',
  timeoutHint: 'Such as 30m or 1h30m. Leave it empty to use the time that was left.',
  timeoutNeeded: 'Such as 30m or 1h30m. The old limit has passed, so a new one is needed.',
  confirm: (id: string) => `Type ${id} to confirm`,
  notConfirmed: (id: string) => `Type the number of the import: ${id}.`,
  unavailable: 'This is not possible in the current state of the import.',
  pause: {
    button: 'Pause',
    title: 'Pause this import?',
    does: (done: number, open: number) => [
      `${users(done)} are done and stay as they are.`,
      `${users(open)} wait until you resume. The time limit stands still meanwhile.`,
    ],
    done: 'The import is paused. No user is written until you resume it.',
  },
  cancel: {
    button: 'Cancel',
    title: 'Cancel this import?',
    does: (done: number, open: number) => [
      `${users(done)} are done and stay as they are. Undo removes them.`,
      `${users(open)} will not be imported, unless you resume.`,
    ],
    done: 'The import is cancelled. No more users are written.',
  },
  resume: {
    button: 'Resume',
    title: 'Resume this import?',
    does: (open: number) => [`${users(open)} are still to be imported.`],
    done: 'The import runs again.',
  },
  retry: {
    button: 'Try failed again',
    title: 'Try the failed users again?',
    does: (failed: number, open: number) => [
      `${users(failed)} that failed are tried again.`,
      ...(open > 0 ? [`${users(open)} that are still open are processed too.`] : []),
      'Users that are invalid fail again with the same reason.',
    ],
    done: 'The failed users are tried again.',
  },
  send_mails: {
    button: 'Send mails',
    title: 'Send the held mails?',
    does: (held: number) => [`${mails(held)} are sent to users who still need them. This cannot be taken back.`],
    done: 'The mails are on their way.',
  },
  undo: {
    button: 'Undo',
    title: 'Undo this import?',
    does: (removed: number, kept: number) => [
      `${users(removed)} are deleted. Their ids are not given to anybody else.`,
      kept > 0 ? `${users(kept)} are kept:` : 'No user is kept.',
    ],
    done: 'The undo runs. You see here which users are removed and which are kept.',
  },
};

/** What a remedy does. */
export const REMEDIES: Readonly<Record<string, string>> = {
  'trim-email': 'Trim the email address',
  'drop-hash': 'No password: mail a link to choose one',
  'email-as-user-name': 'Use the email address as user name',
  'user-name-as-email': 'Make an address from the user name',
  'keep-first': 'Keep the first of them',
  'leave-out': 'Leave out',
};

export const FIX = {
  title: (id: string) => `Fix import ${id}`,
  button: 'Fix failed users',
  heading: 'Why users failed',
  none: 'No user failed for a reason that can be corrected here.',
  more: (count: string) => `There are ${count} further causes.`,
  cause: 'Cause',
  users: 'Users',
  rows: 'For example in row',
  remedies: 'For all of them',
  edit: 'Edit one by one',
  corrected: (count: string) => `${count} corrected`,
  send: (count: string) => `Send ${count} again`,
  row: 'Row',
  user: 'User',
  value: (field: string) => `New value of ${field}`,
  save: 'Save corrections',
  good: 'Good: will be imported when sent again',
  gone: 'Nobody is left in this cause.',
  next: 'Next users',
  noEdit: 'This cannot be typed in here: choose a remedy for all of them.',
  signIn: 'Your session has ended. Sign in again in another tab, then repeat it.',
  failed: 'Could not be saved. Try again.',
  domain: 'Domain of the addresses',
  domainHint: 'The part after the @, such as example.com.',
  preview: 'Show what it would do',
  apply: (count: string) => `Apply to ${count}`,
  changed: (count: string) => `${count} will be corrected or left out.`,
  unchanged: (count: string) => `${count} cannot be helped by it and stay as they are.`,
  before: 'Before',
  after: 'After',
  leftOut: 'left out',
  examples: 'The first of them',
};

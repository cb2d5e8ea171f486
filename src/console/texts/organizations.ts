/** The texts of organizations, their limits, how their users sign in, and their members. */
import type { OrgLimit } from '../../contract/organization-limits.ts';
import type { LoginPolicy } from '../../contract/policies.ts';
import * as de from './de/organizations.ts';
import { localized } from './language.ts';

const englishOrgs = {
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
  state: 'State',
  states: {
    ORG_STATE_ACTIVE: 'Active',
    ORG_STATE_INACTIVE: 'Deactivated',
    ORG_STATE_REMOVED: 'Deleted',
  } as Readonly<Record<string, string>>,
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
    deactivated: 'The organization is deactivated.',
    reactivated: 'The organization is reactivated. Its imports stay paused until somebody continues them.',
    deleted: 'The organization is deleted. You can take that back for seven days.',
    limited: 'The limits are set.',
    login: 'How users sign in is set.',
    loginReset: 'The organization has the policy of the service.',
    restored: 'The organization is back. Its imports stay paused until somebody continues them.',
  },
};

const englishOrgLimitTexts = {
  title: 'Limits',
  what: 'Limit',
  most: 'At most',
  used: 'In use',
  names: {
    users: 'Users',
    importsAtOnce: 'Imports at once',
    usersPerImport: 'Users of one import',
    mailsPerDay: 'Emails and text messages a day',
    smsPerDay: 'Text messages a day',
    requestsPerMinute: 'Requests a minute',
  } satisfies Record<OrgLimit, string>,
  hints: {
    users: 'With those who wait in imports that have not ended.',
    importsAtOnce: 'That run or are paused; dry runs too.',
    usersPerImport: 'Of this organization, also invalid ones.',
    mailsPerDay: 'To its users, in a day of UTC. What goes beyond waits until the next day.',
    smsPerDay:
      'To its users, in a day of UTC. Empty: as the service allows. Codes for a sign-in beyond it are not sent.',
    requestsPerMinute: 'Of the API, by its machine users and by its people with a role. This console is not counted.',
  } satisfies Record<OrgLimit, string>,
  none: 'Not limited',
  notCounted: 'Not counted',
  pending: (users: string, pending: string) => `${users}, and ${pending} in imports`,
  change: 'Change the limits',
  changeOf: (name: string) => `Limits of ${name}`,
  empty: 'An empty field means: not limited.',
  keeps: 'A limit below what is already there takes nothing away. It lets nothing be added.',
  set: 'Set the limits',
};

const englishLoginPolicy = {
  title: 'How users sign in',
  own: 'The organization has a policy of its own.',
  ofOthers: 'It is for organizations that have no policy of their own.',
  done: 'How users sign in is set.',
  ofService: 'This is the policy of the service: the organization has none of its own.',
  change: 'Change how users sign in',
  changeOf: (name: string) => `How users of ${name} sign in`,
  set: 'Set how users sign in',
  reset: 'Take the policy of the service',
  resetTitle: 'Policy of the service',
  resetEffect: 'The organization loses its own policy, and follows that of the service, also when it changes.',
  mailCode: 'Codes by email',
  mailCodes: {
    off: 'Nobody signs in with a code. Users without a password choose one with a link.',
    withoutPassword: 'Users without a password sign in with a code.',
    all: 'Everybody with a verified address may sign in with a code, and users without a password.',
  } satisfies Record<LoginPolicy['mailCode'], string>,
  mailCodeOwners: 'An administrator of the service needs the permission of the policy of the service too.',
  smsCode: 'Codes by text message',
  smsCodes: {
    off: 'Nobody signs in with a phone number.',
    withoutPassword: 'Users without a password sign in with their number and a code.',
    all: 'Everybody with a verified number may sign in with it and a code.',
  } satisfies Record<LoginPolicy['smsCode'], string>,
  smsCodeHint:
    'Whoever holds the number signs in. A number that two users have signs in neither. The service needs a gateway for text messages.',
  initMail: 'Emails of imports',
  initMails: {
    always: 'Every user without a password, or with an address that is not verified, gets one.',
    unlessWayIn: 'Only users who cannot sign in in another way get one.',
  } satisfies Record<LoginPolicy['initMail'], string>,
  linking: 'Accounts at a provider that are linked to no user',
  linkings: {
    refuse: 'They sign in nobody.',
    confirm: 'The person signs in once in another way, and is linked.',
    verifiedAddress: 'They are linked to the user with the same address, if both sides have verified it.',
    create: 'They get a new user, for the domains of the provider.',
  } satisfies Record<LoginPolicy['linking'], string>,
  linkingHint:
    'A provider may have a rule of its own. The last two also need a provider that is trusted with addresses.',
  passkeys: 'Passkeys',
  passkeyChoices: {
    true: 'Users may have passkeys, and sign in with them.',
    false: 'Nobody signs in with a passkey.',
  },
  deleteAccount: 'Deletion of the own account',
  deleteAccounts: {
    false: 'Users ask an administrator.',
    true: 'Users may delete their own account.',
  },
  forceMfa: 'Second factor',
  forceMfas: {
    false: 'Users who have a second factor are asked for it.',
    true: 'Everybody needs one. Users without one set it up after the password or code, before they are signed in.',
  },
};

const englishOrgChanges = {
  back: 'Back, change nothing',
  removal: 'Removed for good',
  counts: {
    humans: 'People',
    machineUsers: 'Machine users',
    members: 'Members, who lose their roles here',
    imports: 'Imports',
    sharedImports: 'Imports into other organizations as well, which stay for now',
    drafts: 'Imports that are not started',
    passwordSources: 'Password sources',
    identityProviders: 'Identity providers',
    unsentMails: 'Emails that are not sent',
    events: 'Events of its history',
  } as Readonly<Record<string, string>>,
  typeId: (id: string) => `Type ${id} to confirm`,
  wrongId: 'This is not the id of the organization.',
  pages: {
    deactivate: {
      button: 'Deactivate',
      title: (name: string) => `Deactivate ${name}`,
      effects: [
        'At once, its users cannot sign in, and all their sessions and tokens are refused.',
        'Its running imports are paused, and its emails wait.',
        'Nothing is deleted. You can reactivate it at any time.',
      ],
    },
    reactivate: {
      button: 'Reactivate',
      title: (name: string) => `Reactivate ${name}`,
      effects: [
        'Its users can sign in again, and sessions and tokens that have not expired are good again.',
        'Emails that waited are sent within an hour.',
        'Its imports stay paused until somebody continues them.',
      ],
    },
    delete: {
      button: 'Delete',
      title: (name: string) => `Delete ${name}`,
      effects: [
        'At once, its users cannot sign in, and all their sessions and tokens are refused.',
        'For seven days you can take that back. Then everything below is removed for good.',
        'Its id stays taken. Its domain becomes free.',
      ],
    },
    undelete: {
      button: 'Take the deletion back',
      title: (name: string) => `Take the deletion of ${name} back`,
      effects: [
        'It is as it was before. If it was deactivated, it is so again.',
        'Its imports stay paused until somebody continues them.',
      ],
    },
  },
};

const englishMembers = {
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

export const ORGS = localized(englishOrgs, de.ORGS);
export const ORG_LIMIT_TEXTS = localized(englishOrgLimitTexts, de.ORG_LIMIT_TEXTS);
export const LOGIN_POLICY = localized(englishLoginPolicy, de.LOGIN_POLICY);
export const ORG_CHANGES = localized(englishOrgChanges, de.ORG_CHANGES);
export const MEMBERS = localized(englishMembers, de.MEMBERS);

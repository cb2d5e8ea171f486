/** Audit events: their types, the conditions of a search, and the operations that search and export them. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { plainAddress } from '../platform/text/names.ts';
import { operations } from './operation.ts';
import { OWNER } from './roles.ts';
import { AT, digits, timeInput, timestamp } from './shapes.ts';

/** Every type of audit event, with its meaning. The names are an interface: programs match on them. */
export const AUDIT_TYPES = {
  'user.signin.succeeded': 'a user signed in',
  'user.signin.failed': 'a sign-in failed; `payload.reason` says why',
  'user.signin.locked': 'too many failed sign-ins: further ones are refused for a time',
  'user.signout': 'a user signed out of the browser',
  'user.session.added': 'a program created a session after a sign-in',
  'user.session.removed': 'a session was ended',
  'user.login.ended':
    'a login of a user was ended, all of them, or all but that of the call; `payload.login` says which',
  'oauth.token.issued': 'a client got tokens; `payload.grantType` names the grant',
  'oauth.token.refreshed': 'a client got new tokens for a refresh token',
  'oauth.token.revoked': 'a client revoked a token, and with it the other tokens of its grant',
  'oauth.token.refused': 'a token request was refused; `payload.reason` is the OAuth error',
  'user.human.added': 'a person was created',
  'user.machine.added': 'a machine user was created',
  'user.username.changed': 'the user name was changed',
  'user.human.profile.changed': 'the profile was changed',
  'user.human.email.changed': 'the email address was changed',
  'user.human.email.change.requested': 'a new email address was requested, which counts once it is verified',
  'user.human.email.code.added': 'a code to verify the email address was sent or returned',
  'user.human.email.verified': 'the email address was verified',
  'user.human.phone.changed': 'the phone number was changed',
  'user.human.phone.change.requested': 'a new phone number was requested, which counts once it is verified',
  'user.human.phone.code.added': 'a code to verify the phone number was sent or returned',
  'user.human.phone.verified': 'the phone number was verified',
  'user.human.phone.removed': 'the phone number was removed',
  'user.human.password.changed': 'a password was set or changed',
  'user.human.password.code.added': 'a code to set a new password was sent or returned',
  'user.human.password.migrated': 'a password was verified at its password source and hashed here',
  'user.human.initialised':
    'a new user became active with the code from their mail: chose the first password, or signed in',
  'user.human.claimed':
    'a provider signed in a user whose address is not verified, for the first time: what was begun before ended',
  'user.human.signin.code.added': 'a code for a sign-in was sent by mail or text message, or returned',
  'user.human.mail.codes.allowed': 'the login policy decides again whether the user may use codes by mail',
  'user.human.mail.codes.refused': 'the user was left out of codes by mail',
  'user.human.totp.added': 'the enrolment of an authenticator app began',
  'user.human.totp.verified': 'an authenticator app became a second factor',
  'user.human.totp.removed': 'authenticator apps were removed',
  'user.human.otp.email.added': 'codes by mail became a second factor',
  'user.human.otp.email.removed': 'codes by mail are no second factor any more',
  'user.human.otp.sms.added': 'codes by text message became a second factor',
  'user.human.otp.sms.removed': 'codes by text message are no second factor any more',
  'user.human.totp.lost': 'the key of an authenticator app was lost: no code of it is right until it is removed',
  'user.human.recovery_codes.added': 'new recovery codes were made, in place of the ones before',
  'user.human.recovery_codes.removed': 'the recovery codes were removed',
  'user.human.recovery_codes.lost': 'the recovery codes could not be decrypted any more, and were removed',
  'user.human.recovery_code.used': 'a recovery code was used; `payload.left` says how many are left',
  'user.human.factors.reset':
    'all factors, passkeys and recovery codes were removed; the payload says how many of each',
  'user.human.passkey.added': 'a passkey was added; `payload.passkeyId` says which',
  'user.human.passkey.named': 'a passkey was named; `payload.passkeyId` says which',
  'user.human.passkey.removed': 'a passkey or security key was removed; `payload.passkeyId` says which',
  'user.human.passkey.code.added': 'a link to add a passkey was mailed',
  'user.human.link.added': 'an account at an identity provider was linked; `payload.idpId` says which provider',
  'user.human.link.removed': 'the link to an account at an identity provider was removed',
  'user.locked': 'a user was locked',
  'user.unlocked': 'a user was unlocked, or the timed locks of an active one were ended',
  'user.deactivated': 'a user was deactivated',
  'user.reactivated': 'a user was reactivated',
  'user.removed': 'a user was deleted',
  'user.erasure.requested': 'the erasure of a user who was deleted before was requested',
  'user.erased': 'an erasure is done: nothing names the person any more; `userId` is what stands in place of the id',
  'user.pat.added': 'a personal access token was created',
  'user.pat.removed': 'a personal access token was deleted',
  'user.machine.key.added': 'a key of a machine user was created',
  'user.machine.key.removed': 'a key of a machine user was deleted',
  'user.machine.secret.set': 'a secret of a machine user was created',
  'user.machine.secret.removed': 'a secret of a machine user was deleted',
  'organization.added': 'an organization was created',
  'organization.deactivated': 'an organization was deactivated: its users cannot sign in, its imports are paused',
  'organization.reactivated': 'an organization was reactivated',
  'organization.deleted': 'an organization was deleted; that can be taken back for seven days',
  'organization.restored': 'the deletion of an organization was taken back',
  'organization.removed': 'an organization was removed for good, with its users, imports and settings',
  'organization.limits.set': 'the limits of an organization were set',
  'organization.member.added': 'a user got roles on an organization',
  'organization.member.removed': 'a user lost the roles on an organization',
  'organization.policy.password.age.added': 'an organization got a password-age policy of its own',
  'organization.policy.password.age.changed': 'the password-age policy of an organization was changed',
  'organization.policy.password.age.reset': 'an organization went back to the password-age policy of the instance',
  'organization.policy.password.complexity.added': 'an organization got a password-complexity policy of its own',
  'organization.policy.password.complexity.changed': 'the password-complexity policy of an organization was changed',
  'organization.policy.password.complexity.reset':
    'an organization went back to the password-complexity policy of the instance',
  'organization.policy.login.added': 'an organization got a login policy of its own',
  'organization.policy.login.changed': 'the login policy of an organization was changed',
  'organization.policy.login.reset': 'an organization went back to the login policy of the instance',
  'organization.policy.branding.added': 'an organization got a branding of its own',
  'organization.policy.branding.changed': 'the branding of an organization was changed',
  'organization.policy.branding.reset': 'an organization went back to the branding of the instance',
  'organization.allowed_urls.set': 'the URLs that links in emails may lead to were set',
  'organization.sign_in_names.set': 'the names that users sign in with were set',
  'organization.webhook_secret.set': 'the secret of the webhooks was created',
  'organization.webhook_secret.lost': 'the secret of the webhooks was lost, and removed',
  'organization.password_source.added': 'a password source was added',
  'organization.password_source.changed': 'the name, address, secret, limits or end of a password source was changed',
  'organization.password_source.ended': 'a password source ended: its users get an email to choose a password',
  'organization.password_source.removed': 'a password source was deleted',
  'organization.idp.added': 'an identity provider was added to the organization',
  'organization.idp.changed': 'an identity provider of the organization was changed; `payload.fields` names what',
  'organization.idp.removed': 'an identity provider of the organization was removed',
  'instance.member.added': 'a user became an IAM_OWNER',
  'instance.member.removed': 'a user is no longer an IAM_OWNER',
  'instance.administrator.recovered':
    'a user was made IAM_OWNER and able to sign in by `muster admin recover`; `payload.by` says who ran it where',
  'instance.policy.password.age.changed': 'the password-age policy of the instance was changed',
  'instance.policy.password.complexity.changed': 'the password-complexity policy of the instance was changed',
  'instance.policy.login.changed': 'the login policy of the instance was changed',
  'instance.policy.branding.changed': 'the branding of the instance was changed',
  'instance.idp.added': 'an identity provider was added to the instance',
  'instance.idp.changed': 'an identity provider of the instance was changed; `payload.fields` names what',
  'instance.idp.removed': 'an identity provider of the instance was removed',
  'instance.encryption_key.lost':
    'what a lost encryption key had encrypted was given up (`muster keys lost`); `payload` counts it',
  'client.added': 'an OAuth client was registered',
  'client.changed': 'an OAuth client was changed',
  'client.removed': 'an OAuth client was removed',
  'import.draft.created': 'a draft of an import was created',
  'import.draft.discarded': 'a draft of an import was discarded',
  'import.accepted': 'a bulk import was accepted',
  'import.single.accepted': 'the import of one user was accepted',
  'import.paused': 'an import was paused',
  'import.resumed': 'an import was resumed',
  'import.cancelled': 'an import was cancelled',
  'import.retried': 'the failed users of an import were started again',
  'import.item.corrected': 'the entry of a failed user was corrected',
  'import.cause.fixed': 'the users who failed for one cause were corrected or left out',
  'import.sign.in.mails.requested': 'somebody asked for a mail to the users of an import who have not signed in',
  'import.mails.released': 'the held mails of an import were released',
  'import.undo.started': 'the undo of an import began',
  'import.undone': 'the undo of an import ended',
  'import.erased': 'the data of the users that an import did not write was erased',
  'import.removed': 'an old import was deleted',
} as const;

export type AuditType = keyof typeof AUDIT_TYPES;
export const AUDIT_TYPE_NAMES = Object.keys(AUDIT_TYPES) as [AuditType, ...AuditType[]];

export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;

const PAGE_TOKEN = 'must be the nextPageToken of an earlier page of this search';
const PAGE_SIZE = 'must be a whole number from 1 to 1000';
const ADDRESS = 'must be an IP address, or a network such as 192.0.2.0/24';
const TYPE = 'must be a type of audit event, such as user.signin.failed';

/** All conditions must hold. */
export const auditFilter = z.object({
  types: z.array(z.enum(AUDIT_TYPE_NAMES, TYPE)).min(1, 'must have at least one type').optional(),
  userId: requiredText(200).optional(),
  actorId: requiredText(200).optional(),
  orgId: requiredText(200).optional(),
  clientId: requiredText(200).optional(),
  address: z.string('must be a string').refine(isNetwork, ADDRESS).transform(plain).optional(),
  from: timeInput().optional(),
  to: timeInput().optional(),
  asc: z.boolean('must be true or false').default(false),
});
export type AuditFilter = z.output<typeof auditFilter>;

export const auditSearch = auditFilter.extend({
  pageSize: z.number(PAGE_SIZE).int(PAGE_SIZE).min(1, PAGE_SIZE).max(1000, PAGE_SIZE).default(100),
  pageToken: z
    .string(PAGE_TOKEN)
    .regex(/^\d{1,14}-\d{1,18}$/, PAGE_TOKEN)
    .optional(),
});

export const auditExport = auditFilter.extend({
  format: z.enum(EXPORT_FORMATS, `must be ${EXPORT_FORMATS.join(' or ')}`).default('ndjson'),
});

const ACTOR_KINDS = ['human', 'machine', 'client', 'system', 'deleted', 'anonymous'] as const;

export const auditEvent = z
  .object({
    sequence: digits(),
    creationDate: timestamp(),
    type: z.enum(AUDIT_TYPE_NAMES),
    actor: z.object({ kind: z.enum(ACTOR_KINDS), id: z.string().optional() }).meta({
      description:
        'Who did it. `client`: an OAuth client for itself. `system`: the service. `deleted`: a user who deleted ' +
        'themselves. `anonymous`: nobody was authenticated.',
    }),
    userId: z.string().optional().meta({ description: 'The user concerned.' }),
    orgId: z.string().optional().meta({ description: 'The organization concerned.' }),
    clientId: z.string().optional().meta({ description: 'The OAuth client that called, or whose token was used.' }),
    object: z.object({ type: z.string(), id: z.string() }).optional().meta({
      description: 'What was changed, if it is not a user: an `organization`, `client`, `import`, `instance`.',
    }),
    address: z.string().optional().meta({ description: 'IP address of the caller.' }),
    userAgent: z.string().optional().meta({ description: 'The first 200 characters of the header.' }),
    requestId: z.string().optional().meta({ description: 'As in `x-request-id` and in the log.' }),
    payload: z.record(z.string(), z.unknown()).optional().meta({ description: 'Details of this type of event.' }),
    count: z.int().meta({ minimum: 1, description: 'How many equal failures within a minute this event stands for.' }),
    lastDate: timestamp().optional().meta({ description: 'When the last of several equal failures was.' }),
  })
  .meta({ id: 'AuditEvent' });

const example = {
  sequence: '4711',
  creationDate: AT,
  type: 'user.signin.failed' as const,
  actor: { kind: 'anonymous' as const },
  userId: 'ann',
  orgId: 'acme',
  clientId: 'shop',
  address: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  requestId: '019c1a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b',
  payload: { reason: 'wrong_password' },
  count: 3,
  lastDate: AT,
};
const exampleCsv =
  'sequence,creationDate,type,actorKind,actorId,userId,orgId,clientId,objectType,objectId,address,userAgent,' +
  `requestId,payload,count,lastDate\r\n4711,${AT},user.locked,human,bob,ann,acme,,,,203.0.113.7,curl/8.5.0,,,1,\r\n`;

const SCOPE = 'An IAM_OWNER gets all events, others those of the organizations on which they are ORG_OWNER.';

export const eventOperations = operations({
  searchEvents: {
    path: 'POST /admin/v1/events/_search',
    who: OWNER,
    of: 'orgs',
    summary: 'Search the audit events',
    description:
      `${SCOPE} All conditions must hold; \`from\` is inclusive, \`to\` is exclusive; \`address\` can be a network. Newest ` +
      'first unless `asc` is true. To get the next page, send the same body with `pageToken`; `nextPageToken` is empty ' +
      'on the last page.',
    body: {
      schema: auditSearch,
      error: 'EVENTS-SEARCH',
      examples: {
        'failed sign-ins of a day': {
          types: ['user.signin.failed'],
          from: '2026-01-31T00:00:00Z',
          to: '2026-02-01T00:00:00Z',
          pageSize: 1000,
        },
        'everything about a user': { userId: 'ann' },
      },
    },
    answers: {
      200: {
        schema: z.object({ result: z.array(auditEvent), nextPageToken: z.string() }),
        example: { result: [example], nextPageToken: '1769860800000-4711' },
      },
    },
    errors: ['EVENTS-SLOTS'],
  },
  exportEvents: {
    path: 'POST /admin/v1/events/_export',
    who: OWNER,
    of: 'orgs',
    summary: 'Export the audit events',
    description:
      `Streams all events that a search with these conditions finds, until now. ${SCOPE} \`ndjson\`: one event per line, ` +
      'as in the search. `csv`: one record per event; a cell that a spreadsheet would run as a formula begins with an ' +
      'apostrophe.',
    body: {
      schema: auditExport,
      error: 'EVENTS-EXPORT',
      examples: { 'sign-ins as a table': { types: ['user.signin.failed'], format: 'csv' } },
    },
    answers: {
      200: {
        schema: z.string(),
        example: `${JSON.stringify(example)}\n`,
        mediaType: 'application/x-ndjson',
        headers: z.object({ 'Content-Disposition': z.string() }),
        others: { 'text/csv': { schema: z.string(), example: exampleCsv } },
      },
    },
    errors: ['EVENTS-SLOTS'],
  },
});

function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** The address as events store it: IPv4 without the prefix of IPv6. */
function plain(text: string): string {
  return plainAddress(text) ?? text;
}

/** All operations, in the order of the document. */
import { brandingOperations } from './branding.ts';
import { clientOperations } from './clients.ts';
import { credentialOperations, totpOperations } from './credentials.ts';
import { diagnosticsOperations } from './diagnostics.ts';
import { draftOperations } from './drafts.ts';
import { eventOperations } from './events.ts';
import { factorOperations } from './factors.ts';
import { humanOperations } from './humans.ts';
import { idpIntentOperations } from './idp-intents.ts';
import { idpLinkOperations } from './idp-links.ts';
import { idpOperations } from './idps.ts';
import { importOperations } from './imports.ts';
import { machineOperations } from './machines.ts';
import { mailOperations } from './mails.ts';
import { memberOperations } from './members.ts';
import type { Operation } from './operation.ts';
import { organizationLimitOperations } from './organization-limits.ts';
import { organizationStateOperations } from './organization-states.ts';
import { orgOperations } from './organizations.ts';
import { passkeyOperations } from './passkeys.ts';
import { passwordSourceOperations } from './password-sources.ts';
import { policyOperations } from './policies.ts';
import { sentFactorOperations } from './sent-factors.ts';
import { loginOperations, sessionOperations } from './sessions.ts';
import { signInMailOperations } from './sign-in-mails.ts';
import { userOperations } from './users.ts';

/** The groups of operations, in the order in which they are shown. */
export const FEATURES = [
  [
    'Organizations',
    'Set up, create, find, limit, deactivate and delete organizations.',
    { ...orgOperations, ...organizationLimitOperations, ...organizationStateOperations },
  ],
  ['Users', 'Create, find, change and delete users.', { ...humanOperations, ...userOperations, ...idpLinkOperations }],
  ['Email, phone, password', 'Change and verify what a user signs in with.', credentialOperations],
  ['Passkeys', 'Sign in without name and password: add, list, name and remove passkeys.', passkeyOperations],
  [
    'Second factor',
    'Authenticator apps (TOTP), codes by email and text message, recovery codes, and all factors of a user.',
    { ...totpOperations, ...factorOperations, ...sentFactorOperations },
  ],
  [
    'Imports',
    'Import users with their password hashes, and control a running import.',
    { ...importOperations, ...signInMailOperations, ...draftOperations },
  ],
  [
    'Password sources',
    'Other systems that verify the passwords of imported users at their first sign-in.',
    passwordSourceOperations,
  ],
  ['Mails', 'See mails as people get them, before any is sent.', mailOperations],
  ['Identity providers', 'External providers, such as Google, where users sign in.', idpOperations],
  ['Machine users', 'Users that are programs, with their tokens, keys and secrets.', machineOperations],
  ['Members', 'Roles in an organization and in the instance.', memberOperations],
  [
    'Sessions',
    'Check the password of a user, or who they are at an external provider.',
    { ...sessionOperations, ...idpIntentOperations },
  ],
  ['Logins', 'See and end where a user is logged in.', loginOperations],
  ['Password age', 'Rules for new passwords, and the age at which a password expires.', policyOperations],
  ['Branding', 'Name, logo, colours, links and sentences of pages and mails.', brandingOperations],
  ['OAuth clients', 'Applications that sign users in.', clientOperations],
  ['Audit events', 'Who did what, from where.', eventOperations],
  ['Diagnostics', 'What an operator must know about the stores and the workers.', diagnosticsOperations],
] as const;

/** Every operation by its id. */
export const CONTRACT = {
  ...orgOperations,
  ...organizationLimitOperations,
  ...organizationStateOperations,
  ...humanOperations,
  ...userOperations,
  ...idpLinkOperations,
  ...credentialOperations,
  ...totpOperations,
  ...passkeyOperations,
  ...factorOperations,
  ...sentFactorOperations,
  ...importOperations,
  ...signInMailOperations,
  ...draftOperations,
  ...passwordSourceOperations,
  ...mailOperations,
  ...idpOperations,
  ...machineOperations,
  ...memberOperations,
  ...sessionOperations,
  ...idpIntentOperations,
  ...loginOperations,
  ...policyOperations,
  ...brandingOperations,
  ...clientOperations,
  ...eventOperations,
  ...diagnosticsOperations,
};
export type Contract = typeof CONTRACT;
/** Name of an operation; also its operationId in the document. */
export type OperationId = keyof Contract;
export const OPERATIONS: readonly Operation[] = Object.values(CONTRACT);

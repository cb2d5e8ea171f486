/** Passkeys of users, and the operations that add, list, name and remove them. */
import { z } from 'zod';
import { requiredText, text } from '../platform/fields.ts';
import { urlTemplate } from './credentials.ts';
import { operations } from './operation.ts';
import { MANAGER, MANAGER_OR_SELF, SELF } from './roles.ts';
import {
  changed,
  details,
  exampleDetails,
  exampleSearch,
  OWNER_PROOF,
  ownerProof,
  proofBody,
  searchAnswer,
  timestamp,
  timestampOrNull,
} from './shapes.ts';

/** The name that a user gives a passkey. */
const name = () => text(100);

const object = (description: string) => z.record(z.string(), z.unknown()).meta({ description });

/** What `navigator.credentials` returned, as `toJSON()` makes it. */
export const credentialJson = () =>
  z
    .record(z.string(), z.unknown(), 'must be an object')
    .meta({ description: 'The result of `navigator.credentials`, as its `toJSON()` writes it.' });

export const registerBody = ownerProof.extend({
  domain: requiredText(253).optional().meta({
    description:
      'Of the page that asks the browser. It must be the domain of the passkeys of this service, or below it.',
  }),
});

export const verifyPasskeyBody = z.object({ publicKeyCredential: credentialJson(), passkeyName: name().default('') });

export const passkeyNameBody = z.object({ passkeyName: name() });

export const passkeyLinkBody = z.object({
  sendLink: z.object({ urlTemplate: urlTemplate().optional() }).optional(),
  returnCode: z
    .undefined('is not possible: whoever has the code could add a passkey of their own to the account')
    .optional(),
});

const passkey = z
  .object({
    id: z.string(),
    name: z.string(),
    state: z.literal('AUTH_FACTOR_STATE_READY'),
    isSecondFactorOnly: z
      .boolean()
      .meta({ description: 'It is asked for after the password, and signs in nobody alone.' }),
    rpId: z.string().meta({ description: 'The domain that it was made for.' }),
    isUsable: z
      .boolean()
      .meta({ description: 'False for another domain than that of this service: browsers never offer it.' }),
    backedUp: z.boolean().optional().meta({ description: 'A synced passkey. Absent if it is not known.' }),
    creationDate: timestamp(),
    lastUseDate: timestampOrNull(),
  })
  .meta({ id: 'Passkey' });

const ID = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const examplePasskey = {
  id: ID,
  name: 'Phone',
  state: 'AUTH_FACTOR_STATE_READY',
  isSecondFactorOnly: false,
  rpId: 'auth.acme.example',
  isUsable: true,
  creationDate: '2026-01-31T12:00:00.000Z',
  lastUseDate: null,
};

const exampleCredential = {
  id: 'nBu6hYUi8wSdG8gyYnXgIA',
  rawId: 'nBu6hYUi8wSdG8gyYnXgIA',
  type: 'public-key',
  response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0', attestationObject: 'o2NmbXRkbm9uZQ' },
};

export const passkeyOperations = operations({
  registerPasskey: {
    path: 'POST /v2beta/users/{userId}/passkeys',
    rpc: 'zitadel.user.v2.UserService/RegisterPasskey',
    who: SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Start adding a passkey to the own account',
    description:
      'Nobody adds a passkey for somebody else. Give `publicKeyCredentialCreationOptions` to ' +
      '`PublicKeyCredential.parseCreationOptionsFromJSON` in a page of the domain, and send the result to ' +
      '`verifyPasskeyRegistration` within five minutes. Users who have a second factor need a recent sign-in: their ' +
      `password alone is not enough. ${OWNER_PROOF}`,
    body: { ...proofBody, schema: registerBody, error: 'PASSKEY-INVALID' },
    answers: {
      200: {
        schema: z.object({
          details,
          passkeyId: z.string(),
          publicKeyCredentialCreationOptions: object('PublicKeyCredentialCreationOptionsJSON of WebAuthn level 3.'),
        }),
        example: {
          details: exampleDetails,
          passkeyId: ID,
          publicKeyCredentialCreationOptions: { challenge: 'c2VhbGVk', rp: { id: 'auth.acme.example', name: 'Acme' } },
        },
      },
    },
    errors: [
      'PASSKEY-UNAVAILABLE',
      'PASSKEY-MOST',
      'FACTOR-LOST',
      'CODE-INVALID',
      'USER-NOT-HUMAN',
      'PASSWORD-CURRENT',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
  verifyPasskeyRegistration: {
    path: 'POST /v2beta/users/{userId}/passkeys/{passkeyId}',
    rpc: 'zitadel.user.v2.UserService/VerifyPasskeyRegistration',
    who: SELF,
    of: 'user',
    summary: 'Add the passkey that the browser made',
    description: 'The user gets an email that says so.',
    body: {
      schema: verifyPasskeyBody,
      error: 'PASSKEY-INVALID',
      examples: { 'a passkey': { publicKeyCredential: exampleCredential, passkeyName: 'Phone' } },
    },
    answers: { 200: changed },
    errors: ['PASSKEY-UNAVAILABLE', 'PASSKEY-NOT-ACCEPTED', 'PASSKEY-TAKEN', 'PASSKEY-MOST', 'USER-NOT-HUMAN'],
  },
  createPasskeyRegistrationLink: {
    path: 'POST /v2beta/users/{userId}/passkeys/registration_link',
    rpc: 'zitadel.user.v2.UserService/CreatePasskeyRegistrationLink',
    who: MANAGER,
    of: 'user',
    tries: 'always',
    summary: 'Mail a user a link with which they add a passkey',
    description:
      'Opening the link proves the email address. It is for users without a second factor: others sign in first. The code ' +
      'is never returned, as whoever has it could add a passkey of their own.',
    body: { schema: passkeyLinkBody, error: 'PASSKEY-LINK-INVALID', examples: { 'a link': { sendLink: {} } } },
    answers: { 200: changed },
    errors: ['PASSKEY-UNAVAILABLE', 'PASSKEY-LINK-REFUSED', 'USER-NOT-HUMAN', 'EMAIL-NONE', 'URL-TEMPLATE-NOT-ALLOWED'],
  },
  listPasskeys: {
    path: 'POST /v2beta/users/{userId}/passkeys/_search',
    rpc: 'zitadel.user.v2.UserService/ListPasskeys',
    who: MANAGER_OR_SELF,
    of: 'user',
    summary: 'List the passkeys and security keys of a user',
    body: { schema: z.object({}), error: 'PASSKEY-INVALID', examples: { all: {} } },
    answers: { 200: { schema: searchAnswer(passkey), example: exampleSearch(examplePasskey) } },
  },
  namePasskey: {
    path: 'PUT /v2beta/users/{userId}/passkeys/{passkeyId}',
    who: SELF,
    of: 'user',
    summary: 'Name a passkey',
    body: { schema: passkeyNameBody, error: 'PASSKEY-INVALID', examples: { 'a name': { passkeyName: 'Work laptop' } } },
    answers: { 200: changed },
    errors: ['PASSKEY-NOT-FOUND'],
  },
  removePasskey: {
    path: 'DELETE /v2beta/users/{userId}/passkeys/{passkeyId}',
    rpc: 'zitadel.user.v2.UserService/RemovePasskey',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove a passkey or a security key',
    description: `The user gets an email that says so. Users cannot remove their last way to sign in. ${OWNER_PROOF}`,
    body: { ...proofBody, error: 'PASSKEY-INVALID' },
    answers: { 200: changed },
    errors: ['PASSKEY-NOT-FOUND', 'LAST-WAY-IN', 'PASSWORD-CURRENT', 'AUTH-SIGN-IN-AGAIN', 'SESSION-FAILURES'],
  },
});

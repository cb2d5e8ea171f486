/** Creating and changing human users in the OpenAPI document. */
import { z } from 'zod';
import { humanChange, newHuman } from '../../accounts/human-schema.ts';
import type { Operations } from '../operation.ts';
import { OWNER_PROOF, SIGN_IN_AGAIN } from '../owner-proof.ts';
import { details, exampleDetails } from '../shapes.ts';

const codes = {
  emailCode: z.string().optional().meta({ description: 'Present if `email` has `returnCode`.' }),
  phoneCode: z.string().optional().meta({ description: 'Present if `phone` has `returnCode`.' }),
};
const TAKEN = 'USER-ID-TAKEN, USER-NAME-TAKEN: another user has this id or name.';

export const humanOperations: Operations = {
  'POST /v2beta/users/human': {
    id: 'createHumanUser',
    summary: 'Create a human user',
    description:
      'Creates the user in the organization that the body names; otherwise in that of `x-service-orgid`; otherwise in ' +
      'that of the caller. Sends a verification email unless the address is marked as verified or `returnCode` is set. ' +
      'A missing password does not cause an email. A password follows the rules of the organization ' +
      '(PASSWORD-POLICY); a hash is exempt. A second factor in `totpSecret` is required from the first login on.',
    onOrg: true,
    body: {
      schema: newHuman,
      examples: {
        minimal: {
          profile: { givenName: 'Cleo', familyName: 'Clark' },
          email: { email: 'cleo@acme.example' },
        },
        full: {
          userId: 'bob',
          username: 'bob',
          organization: { orgId: 'acme' },
          profile: {
            givenName: 'Bob',
            familyName: 'Burns',
            nickName: 'Bobby',
            displayName: 'Bob B.',
            preferredLanguage: 'de-CH',
            gender: 'GENDER_MALE',
          },
          email: { email: 'bob@acme.example', returnCode: {} },
          phone: { phone: '+41 79 123 45 67', returnCode: {} },
          metadata: [{ key: 'plan', value: 'Z29sZA==' }],
          password: { password: 'correct horse battery staple', changeRequired: false },
          idpLinks: [{ idpId: 'google', userId: '1157', userName: 'Bob' }],
        },
        'with a hash and a link of its own': {
          organization: { orgDomain: 'acme.example' },
          username: 'dora',
          profile: { givenName: 'Dora', familyName: 'Dean' },
          email: {
            email: 'dora@acme.example',
            sendCode: { urlTemplate: 'https://portal.acme.example/verify?user={{.UserID}}&code={{.Code}}' },
          },
          hashedPassword: { hash: '$2b$10$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC' },
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ userId: z.string(), details, ...codes }),
        example: { userId: 'bob', details: exampleDetails, emailCode: 'K7XM4Q', phoneCode: '493201' },
      },
    },
    errors: { 404: 'ORG-NOT-FOUND: the organization does not exist.', 409: TAKEN },
  },
  'PUT /v2beta/users/human/{userId}': {
    id: 'updateHumanUser',
    summary: 'Update a human user',
    description: `Fields that are absent keep their values. For a new address or number: ${OWNER_PROOF}`,
    body: {
      schema: humanChange,
      examples: { 'name and language': { username: 'bob', profile: { givenName: 'Robert', preferredLanguage: 'en' } } },
    },
    answers: { 200: { schema: z.object({ details, ...codes }), example: { details: exampleDetails } } },
    errors: { 401: SIGN_IN_AGAIN, 409: TAKEN },
  },
};

/** Password-age policies in the OpenAPI document. */
import { z } from 'zod';
import { agePolicyBody } from '../policies/schema.ts';
import type { Operations } from './operation.ts';
import { created, createdDetails, exampleCreated } from './shapes.ts';

const policy = z
  .object({
    details: createdDetails,
    maxAgeDays: z.int().meta({ minimum: 0, description: '0: passwords do not expire.' }),
    expireWarnDays: z.int().meta({ minimum: 0 }),
    isDefault: z.boolean().meta({ description: 'Whether this is the policy of the instance.' }),
  })
  .meta({ id: 'PasswordAgePolicy' });

const onePolicy = {
  200: {
    schema: z.object({ policy }).meta({ id: 'OnePasswordAgePolicy' }),
    example: { policy: { details: exampleCreated, maxAgeDays: 90, expireWarnDays: 14, isDefault: false } },
  },
};
const body = { schema: agePolicyBody, examples: { 'three months': { maxAgeDays: 90, expireWarnDays: 14 } } };
const NO_ORG = 'ORG-NOT-FOUND: the organization does not exist.';

export const policyOperations: Operations = {
  'GET /management/v1/policies/password/age': {
    id: 'getPasswordAgePolicy',
    summary: 'Get the password-age policy of the organization',
    onOrg: true,
    answers: onePolicy,
    errors: { 404: NO_ORG },
  },
  'POST /management/v1/policies/password/age': {
    id: 'addPasswordAgePolicy',
    summary: 'Add a password-age policy to the organization',
    onOrg: true,
    body,
    answers: { 200: created },
    errors: { 404: NO_ORG, 409: 'POLICY-AGE-EXISTS: the organization already has its own policy.' },
  },
  'PUT /management/v1/policies/password/age': {
    id: 'updatePasswordAgePolicy',
    summary: 'Update the password-age policy of the organization',
    onOrg: true,
    body,
    answers: { 200: created },
    errors: { 404: `POLICY-AGE-NOT-FOUND: the organization does not have its own policy. ${NO_ORG}` },
  },
  'DELETE /management/v1/policies/password/age': {
    id: 'resetPasswordAgePolicy',
    summary: 'Reset the password-age policy of the organization to the default',
    onOrg: true,
    answers: { 200: created },
    errors: { 404: NO_ORG },
  },
  'GET /management/v1/policies/default/password/age': {
    id: 'getDefaultPasswordAgePolicy',
    summary: 'Get the password-age policy of the instance',
    onOrg: true,
    answers: onePolicy,
    errors: { 404: NO_ORG },
  },
  'GET /admin/v1/policies/password/age': {
    id: 'getInstancePasswordAgePolicy',
    summary: 'Get the password-age policy of the instance',
    description: 'The role must be on the instance; a role in an organization is not enough.',
    answers: onePolicy,
  },
  'PUT /admin/v1/policies/password/age': {
    id: 'updateDefaultPasswordAgePolicy',
    summary: 'Update the password-age policy of the instance',
    body,
    answers: { 200: created },
  },
};

/** Policies in the OpenAPI document. */
import { z } from 'zod';
import { AGE, COMPLEXITY, LOGIN, type PolicyKind } from '../policies/kinds.ts';
import type { Body, Operation, Operations } from './operation.ts';
import { created, createdDetails, exampleCreated } from './shapes.ts';

const NO_ORG = 'ORG-NOT-FOUND: the organization does not exist.';

interface Documented {
  /** As in `PasswordAgePolicy`. */
  id: string;
  /** The fields in an answer. */
  fields: z.ZodRawShape;
  about: string;
  examples: Body['examples'];
  example: Record<string, unknown>;
}

const age = operationsOf(AGE, {
  id: 'PasswordAgePolicy',
  fields: {
    maxAgeDays: z.int().meta({ minimum: 0, description: '0: passwords do not expire.' }),
    expireWarnDays: z.int().meta({ minimum: 0 }),
  },
  about: 'How many days a password is valid, and how early users are warned.',
  examples: { 'three months': { maxAgeDays: 90, expireWarnDays: 14 } },
  example: { maxAgeDays: 90, expireWarnDays: 14 },
});

const complexity = operationsOf(COMPLEXITY, {
  id: 'PasswordComplexityPolicy',
  fields: {
    minLength: z.int().meta({ minimum: 1, description: 'Unicode code points.' }),
    maxLength: z.int().meta({ minimum: 1, description: 'Unicode code points.' }),
  },
  about:
    'The length of new passwords. Every new password must also differ from common passwords and from the names of its ' +
    'user. Imported passwords and hashes are exempt.',
  examples: { 'twelve characters': { minLength: 12 } },
  example: { minLength: 12, maxLength: 200 },
});

const login = operationsOf(LOGIN, {
  id: 'LoginPolicy',
  fields: { forceMfa: z.boolean().meta({ description: 'Whether users must have a second factor.' }) },
  about:
    'With `forceMfa`, users without a second factor set one up on the log-in pages, after their password, before they ' +
    'are signed in. `POST /v2beta/sessions` refuses them with SESSION-MFA-SETUP-REQUIRED.',
  examples: { 'a second factor for everybody': { forceMfa: true } },
  example: { forceMfa: true },
});

export const policyOperations: Operations = { ...age, ...complexity, ...login };

function operationsOf<P>(kind: PolicyKind<P>, documented: Documented): Operations {
  const { area, path, title: policy, operations } = kind;
  const body = { schema: kind.body, examples: documented.examples };
  const answers = { 200: answerOf(documented) };
  const ofOrg = `/management/v1/policies/${path}` as const;
  const ofInstance = `/admin/v1/policies/${path}` as const;
  const changed: Pick<Operation, 'answers'> = { answers: { 200: created } };
  return {
    [`GET ${ofOrg}`]: {
      id: operations.get,
      summary: `Get the ${policy} of the organization`,
      onOrg: true,
      answers,
      errors: { 404: NO_ORG },
    },
    [`POST ${ofOrg}`]: {
      id: operations.add,
      summary: `Add a ${policy} to the organization`,
      description: documented.about,
      onOrg: true,
      body,
      ...changed,
      errors: { 404: NO_ORG, 409: `${area}-EXISTS: the organization already has its own policy.` },
    },
    [`PUT ${ofOrg}`]: {
      id: operations.update,
      summary: `Update the ${policy} of the organization`,
      onOrg: true,
      body,
      ...changed,
      errors: { 404: `${area}-NOT-FOUND: the organization does not have its own policy. ${NO_ORG}` },
    },
    [`DELETE ${ofOrg}`]: {
      id: operations.reset,
      summary: `Reset the ${policy} of the organization to the default`,
      onOrg: true,
      ...changed,
      errors: { 404: NO_ORG },
    },
    [`GET /management/v1/policies/default/${path}`]: {
      id: operations.getDefault,
      summary: `Get the default ${policy} of organizations`,
      description: 'The policy of the instance, which applies to organizations without their own.',
      onOrg: true,
      answers,
      errors: { 404: NO_ORG },
    },
    [`GET ${ofInstance}`]: {
      id: operations.getOfInstance,
      summary: `Get the ${policy} of the instance`,
      description: 'The role must be on the instance; a role in an organization is not enough.',
      answers,
    },
    [`PUT ${ofInstance}`]: {
      id: operations.updateOfInstance,
      summary: `Update the ${policy} of the instance`,
      body,
      ...changed,
    },
  } as Operations;
}

function answerOf({ id, fields, example }: Documented) {
  const isDefault = z.boolean().meta({ description: 'Whether this is the policy of the instance.' });
  const policy = z.object({ details: createdDetails, ...fields, isDefault }).meta({ id });
  return {
    schema: z.object({ policy }).meta({ id: `One${id}` }),
    example: { policy: { details: exampleCreated, ...example, isDefault: false } },
  };
}

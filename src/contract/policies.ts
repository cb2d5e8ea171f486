/**
 * Policies of organizations and of the instance: what each kind may contain, and the operations on it. What they mean for
 * a password is in password-rules.ts.
 */
import { z } from 'zod';
import type { IdOf } from '../platform/errors.ts';
import { type Body, type Operation, operations, type Written } from './operation.ts';
import { ANY_ROLE, IAM_OWNER_ONLY, OWNER } from './roles.ts';
import { created, createdDetails, exampleCreated } from './shapes.ts';

/** How long a new password may be, in Unicode code points. */
export interface LengthPolicy {
  minLength: number;
  maxLength: number;
}

/**
 * The range of each length that a policy may set (NIST SP 800-63B: none under 8; at least 64 must always be allowed).
 */
export const PASSWORD_LENGTH = { shortest: { from: 8, to: 64 }, longest: { from: 64, to: 200 } } as const;

const MAX_DAYS = 36_500;

const days = () => wholeNumber(0, MAX_DAYS);

export const agePolicyBody = z
  .object({ maxAgeDays: days(), expireWarnDays: days().default(0) })
  .refine(fits, { path: ['expireWarnDays'], message: 'must not be more than maxAgeDays' });

/** How old a password may be. */
export interface AgePolicy {
  /** 0: passwords do not expire. */
  maxAgeDays: number;
  /** How many days before expiry users are warned. */
  expireWarnDays: number;
}

/** Rules about kinds of characters make passwords weaker (NIST SP 800-63B), so they are refused, not ignored. */
const noCharacterRule = z
  .literal(false, 'must be false: rules about kinds of characters are not supported')
  .optional()
  .meta({ description: 'Accepted for published clients. There are no rules about kinds of characters.' });

const { shortest, longest } = PASSWORD_LENGTH;

export const complexityPolicyBody = z
  .object({
    minLength: wholeNumber(shortest.from, shortest.to).meta({ description: 'Unicode code points.' }),
    maxLength: wholeNumber(longest.from, longest.to).default(longest.to).meta({ description: 'Unicode code points.' }),
    hasUppercase: noCharacterRule,
    hasLowercase: noCharacterRule,
    hasNumber: noCharacterRule,
    hasSymbol: noCharacterRule,
  })
  .transform(({ minLength, maxLength }) => ({ minLength, maxLength }));

/**
 * Who may sign in with a code by mail, or by text message: nobody, users without a password, or all. The stricter one
 * comes first.
 */
export const MAIL_CODES = ['off', 'withoutPassword', 'all'] as const;
/** Whether imports mail every user whom the rule of imports names, or only those who have no other way to sign in. */
const INIT_MAILS = ['always', 'unlessWayIn'] as const;

/** What happens when somebody comes from a provider with an account that is linked to no user. */
export const LINKING_RULES = ['refuse', 'confirm', 'verifiedAddress', 'create'] as const;
export type LinkingRule = (typeof LINKING_RULES)[number];

export type MailCodeUse = (typeof MAIL_CODES)[number];

export interface LoginPolicy {
  /** Users must have a second factor: without one they set it up before they are signed in. */
  forceMfa: boolean;
  mailCode: MailCodeUse;
  /** Who may sign in with their verified phone number and a code by text message. */
  smsCode: MailCodeUse;
  initMail: (typeof INIT_MAILS)[number];
  linking: LinkingRule;
  /** Users may have passkeys, and sign in with them. */
  passkeys: boolean;
  /** Users may delete their own account. */
  deleteAccount: boolean;
}

/** Some of the fields of a policy; the others keep their values. */
export type Given<P> = { [field in keyof P]?: P[field] | undefined };

export const loginPolicyBody: z.ZodType<Given<LoginPolicy>> = z
  .object({
    forceMfa: choice(),
    mailCode: oneOf(MAIL_CODES).optional(),
    smsCode: oneOf(MAIL_CODES).optional(),
    initMail: oneOf(INIT_MAILS).optional(),
    linking: oneOf(LINKING_RULES).optional(),
    passkeys: choice(),
    deleteAccount: choice(),
  })
  .refine((policy) => Object.values(policy).some((value) => value !== undefined), {
    path: ['forceMfa'],
    message: 'must be true or false, unless the body has another field of the policy',
  })
  .meta({ minProperties: 1 });

interface Policies {
  PasswordAge: AgePolicy;
  PasswordComplexity: LengthPolicy;
  Login: LoginPolicy;
}
/** The name of a kind in the ids of its operations. */
export type PolicyName = keyof Policies;

/** A kind of policy: where it is stored, how it is validated, and how its operations, errors and events are named. */
export interface PolicyKind<P, N extends PolicyName = PolicyName> {
  name: N;
  /** The last part of its paths; its events have the same with dots. */
  path: 'password/age' | 'password/complexity' | 'login';
  /** What people call it. */
  title: string;
  table: string;
  /** The column of each field. */
  columns: { [field in keyof P & string]: string };
  /** A body may omit fields, which then keep their values, if it allows that. */
  body: z.ZodType<Given<P>>;
  /** The ids of its errors. Without `notFound`, PUT adds the policy of an organization that has none of its own. */
  errors: { invalid: IdOf<'INVALID_ARGUMENT'>; exists: IdOf<'ALREADY_EXISTS'>; notFound?: IdOf<'NOT_FOUND'> };
}

export const AGE: PolicyKind<AgePolicy, 'PasswordAge'> = {
  name: 'PasswordAge',
  path: 'password/age',
  title: 'password-age policy',
  table: 'password_age_policies',
  columns: { maxAgeDays: 'max_age_days', expireWarnDays: 'expire_warn_days' },
  body: agePolicyBody,
  errors: { invalid: 'POLICY-AGE-INVALID', exists: 'POLICY-AGE-EXISTS', notFound: 'POLICY-AGE-NOT-FOUND' },
};

export const COMPLEXITY: PolicyKind<LengthPolicy, 'PasswordComplexity'> = {
  name: 'PasswordComplexity',
  path: 'password/complexity',
  title: 'password-complexity policy',
  table: 'password_complexity_policies',
  columns: { minLength: 'min_length', maxLength: 'max_length' },
  body: complexityPolicyBody,
  errors: {
    invalid: 'POLICY-COMPLEXITY-INVALID',
    exists: 'POLICY-COMPLEXITY-EXISTS',
    notFound: 'POLICY-COMPLEXITY-NOT-FOUND',
  },
};

export const LOGIN: PolicyKind<LoginPolicy, 'Login'> = {
  name: 'Login',
  path: 'login',
  title: 'login policy',
  table: 'login_policies',
  columns: {
    forceMfa: 'force_mfa',
    mailCode: 'mail_code',
    smsCode: 'sms_code',
    initMail: 'init_mail',
    linking: 'linking',
    passkeys: 'passkeys',
    deleteAccount: 'delete_account',
  },
  body: loginPolicyBody,
  errors: { invalid: 'POLICY-LOGIN-INVALID', exists: 'POLICY-LOGIN-EXISTS' },
};

const CHANGED = { answers: { 200: created } } as const;

interface Documented {
  /** The name of its schema, such as `PasswordAgePolicy`. */
  id: string;
  /** The fields in an answer. */
  fields: z.ZodRawShape;
  about: string;
  examples: Body['examples'];
  example: Record<string, unknown>;
}

const age = written(AGE, {
  id: 'PasswordAgePolicy',
  fields: {
    maxAgeDays: z.int().meta({ minimum: 0, description: '0: passwords do not expire.' }),
    expireWarnDays: z.int().meta({ minimum: 0 }),
  },
  about: 'How many days a password is valid, and how early users are warned.',
  examples: { 'three months': { maxAgeDays: 90, expireWarnDays: 14 } },
  example: { maxAgeDays: 90, expireWarnDays: 14 },
});

const complexity = written(COMPLEXITY, {
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

const login = written(LOGIN, {
  id: 'LoginPolicy',
  fields: {
    forceMfa: z.boolean().meta({ description: 'Whether users must have a second factor.' }),
    mailCode: z.enum(MAIL_CODES).meta({
      description:
        'Who may sign in with a code by email: nobody, users without a password, or all. IAM_OWNERs may only if the ' +
        'policy of the instance allows it too.',
    }),
    smsCode: z.enum(MAIL_CODES).meta({
      description:
        'Who may sign in with their verified phone number and a code by text message, as `mailCode` says it for email. ' +
        'A number that two users of the organization have signs in neither. Nobody may without a gateway (`SMS_URL`).',
    }),
    initMail: z.enum(INIT_MAILS).meta({
      description:
        'Whether an import mails every user without a password or with an unverified address, or only users who cannot ' +
        'sign in in another way.',
    }),
    linking: z.enum(LINKING_RULES).meta({
      description:
        'What happens when somebody comes from a provider with an account that is linked to no user: they are refused; ' +
        'they sign in once in another way to link it (`confirm`); it is linked to the user with the same address, if ' +
        'the provider is trusted with addresses and both sides have verified it (`verifiedAddress`); or a new user is ' +
        'created, for the domains of the provider (`create`).',
    }),
    passkeys: z.boolean().meta({ description: 'Whether users may have passkeys, and sign in with them.' }),
    deleteAccount: z.boolean().meta({ description: 'Whether users may delete their own account.' }),
  },
  about:
    'With `forceMfa`, users without a second factor set one up on the log-in pages, after their password, before they ' +
    'are signed in. `POST /v2beta/sessions` refuses them with SESSION-MFA-SETUP-REQUIRED. A field that is omitted keeps ' +
    'its value. `PUT` adds the policy if the organization has none of its own.',
  examples: { 'a second factor, and codes by email for all': { forceMfa: true, mailCode: 'all' } },
  example: {
    forceMfa: true,
    mailCode: 'all',
    smsCode: 'off',
    initMail: 'always',
    linking: 'refuse',
    passkeys: true,
    deleteAccount: false,
  },
});

export const policyOperations = { ...age, ...complexity, ...login };

type Reads<N extends PolicyName> = `get${N}Policy` | `getDefault${N}Policy` | `getInstance${N}Policy`;
type Changes<N extends PolicyName> = `${'add' | 'update' | 'reset' | 'updateDefault'}${N}Policy`;
interface PolicyRead<Id extends string> extends Operation {
  id: Id;
  answers: { 200: ReturnType<typeof answerOf> };
}
interface PolicyChange<Id extends string> extends Operation {
  id: Id;
  answers: typeof CHANGED.answers;
}
type OfOrg<N extends PolicyName> = `get${N}Policy` | `getDefault${N}Policy` | `${'add' | 'update' | 'reset'}${N}Policy`;
/** With the types that callers see (client.ts): of which organization, the fields, and the body. */
type PolicyOperations<N extends PolicyName> = {
  readonly [Id in Reads<N>]: Operation &
    Target<N, Id> & { id: Id; answers: { 200: { schema: z.ZodType<Answered<N>> } } };
} & {
  readonly [Id in Changes<N>]: Operation & Target<N, Id> & Sends<N, Id> & { id: Id; answers: typeof CHANGED.answers };
};
type Target<N extends PolicyName, Id extends string> = { of: Id extends OfOrg<N> ? 'org' : 'instance' };
type Sends<N extends PolicyName, Id extends string> = Id extends `reset${N}Policy`
  ? { body?: never }
  : { body: { schema: z.ZodType<Given<Policies[N]>, Given<Policies[N]>> } };
interface Answered<N extends PolicyName> {
  policy: Policies[N] & { details: z.output<typeof createdDetails>; isDefault: boolean };
}

/** The operations of a kind, by what they do. */
export function operationsOf({ name }: { name: PolicyName }) {
  // Of any kind, whose fields are not known here.
  const all = policyOperations as unknown as { [Id in Reads<PolicyName>]: PolicyRead<Id> } & {
    [Id in Changes<PolicyName>]: PolicyChange<Id>;
  };
  const reads: { [Id in Reads<PolicyName>]: PolicyRead<Reads<PolicyName>> } = all;
  const changes: { [Id in Changes<PolicyName>]: PolicyChange<Changes<PolicyName>> } = all;
  const body = changes[`add${name}Policy`].body as Body;
  return {
    get: { ...reads[`get${name}Policy`], of: 'org' },
    getDefault: { ...reads[`getDefault${name}Policy`], of: 'org' },
    getOfInstance: { ...reads[`getInstance${name}Policy`], of: 'instance' },
    add: { ...changes[`add${name}Policy`], of: 'org', body },
    update: { ...changes[`update${name}Policy`], of: 'org', body },
    reset: { ...changes[`reset${name}Policy`], of: 'org' },
    updateOfInstance: { ...changes[`updateDefault${name}Policy`], of: 'instance', body },
  } as const;
}

function written<P, N extends PolicyName>(kind: PolicyKind<P, N>, documented: Documented): PolicyOperations<N> {
  const body = { schema: kind.body, error: kind.errors.invalid, examples: documented.examples };
  const answers = { 200: answerOf(documented) };
  const written = { ...ofOrganization(kind, documented.about, body, answers), ...ofInstance(kind, body, answers) };
  // The names of the keys are the same templates.
  return operations(written) as unknown as PolicyOperations<N>;
}

function ofOrganization<P>(
  { name, errors, path, title: policy }: PolicyKind<P>,
  about: string,
  body: Body,
  answers: Operation['answers'],
): Record<string, Written> {
  const route = `/management/v1/policies/${path}` as const;
  return {
    [`get${name}Policy`]: {
      path: `GET ${route}`,
      who: ANY_ROLE,
      of: 'org',
      summary: `Get the ${policy} of the organization`,
      answers,
    },
    [`add${name}Policy`]: {
      path: `POST ${route}`,
      who: OWNER,
      of: 'org',
      summary: `Add a ${policy} to the organization`,
      description: about,
      body,
      ...CHANGED,
      errors: [errors.exists, 'ORG-STATE'],
    },
    [`update${name}Policy`]: {
      path: `PUT ${route}`,
      who: OWNER,
      of: 'org',
      summary: `Update the ${policy} of the organization`,
      body,
      ...CHANGED,
      errors: [...(errors.notFound ? [errors.notFound] : []), 'ORG-STATE'],
    },
    [`reset${name}Policy`]: {
      path: `DELETE ${route}`,
      who: OWNER,
      of: 'org',
      summary: `Reset the ${policy} of the organization to the default`,
      ...CHANGED,
      errors: ['ORG-STATE'],
    },
  };
}

function ofInstance<P>(
  { name, path, title: policy }: PolicyKind<P>,
  body: Body,
  answers: Operation['answers'],
): Record<string, Written> {
  return {
    [`getDefault${name}Policy`]: {
      path: `GET /management/v1/policies/default/${path}`,
      who: ANY_ROLE,
      of: 'org',
      summary: `Get the default ${policy} of organizations`,
      description: 'The policy of the instance, which applies to organizations without their own.',
      answers,
    },
    [`getInstance${name}Policy`]: {
      path: `GET /admin/v1/policies/${path}`,
      who: IAM_OWNER_ONLY,
      of: 'instance',
      summary: `Get the ${policy} of the instance`,
      description: 'The role must be on the instance; a role in an organization is not enough.',
      answers,
    },
    [`updateDefault${name}Policy`]: {
      path: `PUT /admin/v1/policies/${path}`,
      who: IAM_OWNER_ONLY,
      of: 'instance',
      summary: `Update the ${policy} of the instance`,
      body,
      ...CHANGED,
    },
  };
}

function answerOf({ id, fields, example }: Documented) {
  const isDefault = z.boolean().meta({ description: 'Whether this is the policy of the instance.' });
  const policy = z.object({ details: createdDetails, ...fields, isDefault }).meta({ id });
  return {
    schema: z.object({ policy }).meta({ id: `One${id}` }),
    example: { policy: { details: exampleCreated, ...example, isDefault: false } },
  };
}

/** A whole number, or a string of digits: published clients send these 64-bit types as strings. */
function wholeNumber(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  const digits = z.string().regex(/^\d{1,5}$/);
  return z
    .union([z.int().min(min).max(max), digits], {
      error: (issue) => (issue.input === undefined ? 'is required' : rule),
    })
    .transform(Number)
    .pipe(z.int().min(min, rule).max(max, rule));
}

function choice() {
  return z.boolean('must be true or false').optional();
}

function oneOf<T extends readonly string[]>(values: T) {
  return z.enum(values, `must be ${new Intl.ListFormat('en', { type: 'disjunction' }).format(values)}`);
}

/** Days that are out of range on their own are reported only once. */
function fits(p: { maxAgeDays: number; expireWarnDays: number }): boolean {
  return p.maxAgeDays <= 0 || p.expireWarnDays > MAX_DAYS || p.expireWarnDays <= p.maxAgeDays;
}

/** Human users: the fields of a new or changed person, and the operations that create and change one. */
import { z } from 'zod';
import { HASH_MAX, hashProblem, longestHash } from '../passwords/registry.ts';
import {
  bool,
  eachOnce,
  gender,
  id,
  language,
  newUserId,
  notWith,
  requiredText,
  text,
  textProblem,
  userName,
} from '../platform/fields.ts';
import { LARGE_BODY } from '../platform/http/parse.ts';
import { phoneIfAny } from '../platform/phone.ts';
import { emailInput, importedTotpSecret, phoneInput } from './credentials.ts';
import { operations } from './operation.ts';
import { MANAGER, MANAGER_OR_SELF } from './roles.ts';
import { currentPassword, details, exampleDetails, mailedCode, OWNER_PROOF } from './shapes.ts';

const MAX_LINKS = 10_000;

const VALUE_MAX = 500_000;

/** Each invalid element costs time, so the number of elements is checked first. */
const MAX_ENTRIES = 10_000;

export interface IdpLink {
  idpId: string;
  /** Id and name of the user at the provider. */
  userId: string;
  userName: string;
}

/** A list of links, each to a different account. */
export function idpLinkList() {
  return z
    .array(z.object({ idpId: requiredText(200), userId: requiredText(200), userName: requiredText(200) }))
    .max(MAX_LINKS, `must have at most ${MAX_LINKS} elements`)
    .check(eachOnce('idpId', 'userId'));
}

export interface MetadataEntry {
  key: string;
  /** Standard base64, padded or not. */
  value: string;
}

/** Standard base64 of 1 to 500,000 characters, padded or not. */
export function metadataValue() {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((s, ctx) => {
      const problem =
        s === '' ? 'must not be empty' : (textProblem(s, VALUE_MAX) ?? (isBase64(s) ? undefined : 'must be base64'));
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: VALUE_MAX, contentEncoding: 'base64', examples: ['Z29sZA=='] });
}

/** A list of entries, each with a different key. */
export function metadataList() {
  return z
    .array(z.object({ key: requiredText(200), value: metadataValue() }))
    .max(MAX_ENTRIES, `must have at most ${MAX_ENTRIES} elements`)
    .check(eachOnce('key'));
}

const ABOUT = `A hash of one of the schemes of docs/passwords.md. At most 200 characters; only one of argon2, or that begins with \`$fbscrypt$\` or \`$formula$\`, may have up to ${HASH_MAX}.`;

/** The field for a password hash: a text no longer than its scheme allows. */
export function hashText() {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((hash, ctx) => {
      const problem = lengthProblem(hash);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: HASH_MAX, description: ABOUT });
}

/** A hash that a login will be able to verify. */
export function verifiableHash() {
  return hashText()
    .superRefine((hash, ctx) => {
      const problem = lengthProblem(hash) ? undefined : hashProblem(hash);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ examples: ['$2b$10$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW'] });
}

const changeRequired = bool().default(false);
const password = z.object({ password: requiredText(200), changeRequired });
const hashedPassword = z.object({ hash: verifiableHash(), changeRequired });

const organization = z
  .object({ orgId: id().optional(), orgDomain: requiredText(200).optional() })
  .check(notWith('orgDomain', 'orgId'));

export const newHuman = z
  .object({
    userId: newUserId().optional(),
    username: userName().optional(),
    organization: organization.optional(),
    profile: z.object({
      givenName: requiredText(200),
      familyName: requiredText(200),
      nickName: text(200).default(''),
      displayName: text(200).default(''),
      preferredLanguage: language().default(''),
      gender: gender().default('GENDER_UNSPECIFIED'),
    }),
    email: emailInput,
    phone: phoneIfAny(phoneInput),
    metadata: metadataList().default([]),
    password: password.optional(),
    hashedPassword: hashedPassword.optional(),
    idpLinks: idpLinkList().default([]),
    totpSecret: importedTotpSecret().optional(),
  })
  .check(notWith('hashedPassword', 'password'));

/** Absent fields keep their values. */
export const profileChange = z.object({
  givenName: requiredText(200).optional(),
  familyName: requiredText(200).optional(),
  nickName: text(200).optional(),
  displayName: text(200).optional(),
  preferredLanguage: language().optional(),
  gender: gender().optional(),
});

const passwordChange = z
  .object({
    password: password.optional(),
    hashedPassword: hashedPassword.optional(),
    currentPassword: currentPassword(),
    verificationCode: requiredText(200).optional(),
  })
  .check(notWith('hashedPassword', 'password'), notWith('verificationCode', 'currentPassword'))
  .refine((p) => p.password !== undefined || p.hashedPassword !== undefined, {
    path: ['password'],
    message: 'is required unless hashedPassword is given',
  });

/** Absent fields keep their values. */
export const humanChange = z.object({
  username: userName().optional(),
  profile: profileChange.optional(),
  email: emailInput.optional(),
  phone: phoneIfAny(phoneInput),
  password: passwordChange.optional(),
  /** For a change of the caller's own address or number. */
  currentPassword: currentPassword(),
  mailedCode: mailedCode(),
});

export type NewHuman = z.output<typeof newHuman>;
export type HumanChange = z.output<typeof humanChange>;

const codes = {
  emailCode: z.string().optional().meta({ description: 'Present if `email` has `returnCode`.' }),
  phoneCode: z.string().optional().meta({ description: 'Present if `phone` has `returnCode`.' }),
};

export const humanOperations = operations({
  createHumanUser: {
    path: 'POST /v2beta/users/human',
    rpc: 'zitadel.user.v2.UserService/AddHumanUser',
    who: MANAGER,
    of: 'body',
    orgHeader: true,
    summary: 'Create a human user',
    description:
      'Creates the user in the organization that the body names; otherwise in that of `x-service-orgid`; otherwise in ' +
      'that of the caller. Sends a verification email unless the address is marked as verified or `returnCode` is set. ' +
      'A missing password does not cause an email. A password follows the rules of the organization ' +
      '(PASSWORD-POLICY); a hash is exempt. A second factor in `totpSecret` is required from the first login on.',
    body: {
      schema: newHuman,
      error: 'USER-INVALID',
      limits: LARGE_BODY,
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
    errors: [
      'ORG-LIMIT-USERS',
      'ORG-NOT-FOUND',
      'USER-ID-TAKEN',
      'USER-NAME-TAKEN',
      'IDP-LINK-HELD',
      'PASSWORD-POLICY',
      'URL-TEMPLATE-NOT-ALLOWED',
      'ORG-STATE',
    ],
  },
  updateHumanUser: {
    path: 'PUT /v2beta/users/human/{userId}',
    rpc: 'zitadel.user.v2.UserService/UpdateHumanUser',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Update a human user',
    description: `Fields that are absent keep their values. For a new address or number: ${OWNER_PROOF}`,
    body: {
      schema: humanChange,
      error: 'USER-INVALID',
      examples: { 'name and language': { username: 'bob', profile: { givenName: 'Robert', preferredLanguage: 'en' } } },
    },
    answers: { 200: { schema: z.object({ details, ...codes }), example: { details: exampleDetails } } },
    errors: [
      'AUTH-SIGN-IN-AGAIN',
      'USER-NAME-TAKEN',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'CODE-INVALID',
      'USER-NOT-HUMAN',
      'PASSWORD-POLICY',
      'SESSION-FAILURES',
      'URL-TEMPLATE-NOT-ALLOWED',
      'MAIL-LIMIT',
    ],
  },
});

function lengthProblem(hash: string): string | undefined {
  return hash === '' ? 'must not be empty' : textProblem(hash, longestHash(hash));
}

// One character class and no repeated groups: those overflow the stack on a text of megabytes.
const BASE64 = /^[A-Za-z0-9+/]+(={0,2})$/;

export function isBase64(s: string): boolean {
  const padding = BASE64.exec(s)?.[1]?.length;
  if (padding === undefined) return false;
  return padding === 0 ? s.length % 4 !== 1 : s.length % 4 === 0;
}

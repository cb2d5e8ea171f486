/** Request bodies to create and change a human user. */
import { z } from 'zod';
import { notWith } from '../fields/cross-fields.ts';
import { bool, gender, id, language, requiredText, text } from '../fields/fields.ts';
import { phoneIfAny } from '../fields/phone.ts';
import { currentPassword } from '../identity/login/owner-proof.ts';
import { importedTotpSecret } from '../identity/totp/schema.ts';
import { verifiableHash } from '../users/hash-field.ts';
import { idpLinkList } from '../users/idp-links.ts';
import { metadataList } from '../users/metadata.ts';
import { emailInput, phoneInput } from './contact-schema.ts';

const changeRequired = bool().default(false);
const password = z.object({ password: requiredText(200), changeRequired });
const hashedPassword = z.object({ hash: verifiableHash(), changeRequired });

const organization = z
  .object({ orgId: id().optional(), orgDomain: requiredText(200).optional() })
  .check(notWith('orgDomain', 'orgId'));

export const newHuman = z
  .object({
    userId: id().optional(),
    username: requiredText(200).optional(),
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
const profileChange = z.object({
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

export const humanChange = z.object({
  username: requiredText(200).optional(),
  profile: profileChange.optional(),
  email: emailInput.optional(),
  phone: phoneIfAny(phoneInput),
  password: passwordChange.optional(),
  /** For a change of the caller's own address or number. */
  currentPassword: currentPassword(),
});

export type NewHuman = z.output<typeof newHuman>;
export type HumanChange = z.output<typeof humanChange>;

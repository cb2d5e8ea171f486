/** Request bodies of the organization calls. */
import { z } from 'zod';
import { orgRoleList } from '../access/member-schema.ts';
import { bool, emailAddress, gender, id, language, requiredText, text } from '../fields/fields.ts';
import { mobileNumber } from '../fields/phone.ts';
import { paging } from '../http/paging.ts';
import { domainName } from './domain.ts';

const profile = z.object({
  firstName: requiredText(200),
  lastName: requiredText(200),
  nickName: text(200).default(''),
  displayName: text(200).default(''),
  preferredLanguage: language().default(''),
  gender: gender().default('GENDER_UNSPECIFIED'),
});

const human = z.object({
  userName: requiredText(200),
  profile,
  email: z.object({ email: emailAddress(), isEmailVerified: bool().default(false) }),
  phone: z.object({ phone: mobileNumber(50), isPhoneVerified: bool().default(false) }).optional(),
  password: requiredText(200),
});

export const orgSetUp = z.object({
  org: z.object({ name: requiredText(200), domain: domainName().optional(), orgId: id().optional() }),
  human,
  roles: orgRoleList().optional(),
});
export type OrgSetUp = z.output<typeof orgSetUp>;

export const newOrg = z.object({ name: requiredText(200), domain: domainName().optional(), orgId: id().optional() });

const METHODS = ['TEXT_QUERY_METHOD_EQUALS'] as const;
const method = z.enum(METHODS, `must be ${METHODS[0]}`).optional();

const query = z
  .object({
    idQuery: z.object({ id: requiredText(200) }).optional(),
    nameQuery: z.object({ name: requiredText(200), method }).optional(),
    domainQuery: z.object({ domain: requiredText(200), method }).optional(),
  })
  .refine((q) => Object.values(q).filter((v) => v !== undefined).length === 1, 'must contain exactly one known query')
  .meta({ minProperties: 1, maxProperties: 1 });

export type OrgQuery = z.output<typeof query>;
export const orgSearch = z.object({
  query: paging(),
  queries: z.array(query).max(100, 'must have at most 100 queries').default([]),
});

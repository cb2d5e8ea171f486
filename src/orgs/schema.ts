/** Request bodies of the organization calls. */
import { z } from 'zod';
import { orgRoleList } from '../access/member-schema.ts';
import { bool, emailAddress, gender, id, language, requiredText, text } from '../fields/fields.ts';
import { mobileNumber, phoneIfAny } from '../fields/phone.ts';
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
  phone: phoneIfAny(z.object({ phone: mobileNumber(50), isPhoneVerified: bool().default(false) })),
  password: requiredText(200),
});

export const orgSetUp = z.object({
  org: z.object({ name: requiredText(200), domain: domainName().optional(), orgId: id().optional() }),
  human,
  roles: orgRoleList().optional(),
});
export type OrgSetUp = z.output<typeof orgSetUp>;

export const newOrg = z.object({ name: requiredText(200), domain: domainName().optional(), orgId: id().optional() });

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** An origin, with or without a slash at its end. */
const origin = requiredText(200).transform((text, ctx) => {
  const url = URL.parse(text);
  const isOrigin = url !== null && [url.origin, `${url.origin}/`].includes(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (isOrigin && isSafe) return url.origin;
  const message = 'must be an origin such as https://app.example.com, without a path; http only on a loopback address';
  if (text !== '') ctx.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const MAX_URLS = 50;

export const allowedUrlsBody = z.object({
  allowedUrls: z
    .array(origin)
    .max(MAX_URLS, `must have at most ${MAX_URLS} entries`)
    .transform((list) => [...new Set(list)]),
});

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

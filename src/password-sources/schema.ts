/** Request bodies of password sources, and what is stored of them. */
import { z } from 'zod';
import { requiredText } from '../fields/fields.ts';
import { webhookUrl } from '../webhooks/schema.ts';

const MAX_DN = 1000;
const MAX_CERTIFICATE = 100_000;
const MS = 'must be a whole number of milliseconds from 500 to 10000';
const RATE = 'must be a number from 0.1 to 1000';

const secret = () => requiredText(1000).meta({ format: 'password', writeOnly: true });

/** Placeholders of `userName`. */
const USER_PLACEHOLDERS = ['userName', 'loginName', 'email', 'userId'] as const;
export type UserPlaceholder = (typeof USER_PLACEHOLDERS)[number];
const USER_NAME = `must contain one of ${USER_PLACEHOLDERS.map((p) => `{${p}}`).join(', ')}`;
const userName = requiredText(200)
  .refine((text) => USER_PLACEHOLDERS.some((placeholder) => text.includes(`{${placeholder}}`)), USER_NAME)
  .default('{userName}')
  .meta({ description: 'The name of a user at the source, with one of the placeholders.' });

const until = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 timestamp' })
  .transform((text) => new Date(text))
  .refine((date) => Math.abs(date.getTime()) < 8e15, 'must be a year of four digits')
  .refine((date) => date.getTime() > Date.now(), 'must be in the future')
  .optional()
  .meta({ description: 'From then on, users who have not signed in get the initialisation email.' });

const common = {
  name: requiredText(200),
  userName,
  until,
  timeoutMs: z.number(MS).int(MS).min(500, MS).max(10_000, MS).default(5000),
  checksPerSecond: z.number(RATE).min(0.1, RATE).max(1000, RATE).default(10),
};

const withName = (text: string) => text.includes('{name}');

const ldapSettings = z
  .object({
    url: requiredText(2000).refine(isLdapUrl, 'must be a URL such as ldaps://ldap.example.com'),
    userDn: requiredText(MAX_DN).refine(withName, 'must contain {name}').optional(),
    searchBase: requiredText(MAX_DN).optional(),
    searchFilter: requiredText(MAX_DN).refine(withName, 'must contain {name}').optional(),
    bindDn: requiredText(MAX_DN).optional(),
    bindPassword: secret().optional(),
    caCertificate: requiredText(MAX_CERTIFICATE)
      .refine((pem) => pem.includes('-----BEGIN CERTIFICATE-----'), 'must be a certificate in PEM')
      .optional(),
  })
  .superRefine((settings, ctx) => {
    for (const [path, message] of ldapProblems(settings)) ctx.addIssue({ code: 'custom', path: [path], message });
  });

interface LdapParts {
  userDn?: string | undefined;
  searchBase?: string | undefined;
  searchFilter?: string | undefined;
  bindDn?: string | undefined;
  bindPassword?: string | undefined;
}

function ldapProblems({ userDn, searchBase, searchFilter, bindDn, bindPassword }: LdapParts): [string, string][] {
  const isSearched = searchBase !== undefined || searchFilter !== undefined || bindDn !== undefined;
  const found: [string, string][] = [];
  if (userDn !== undefined && isSearched) found.push(['userDn', 'must not be given together with a search']);
  if (userDn === undefined && !isSearched) found.push(['userDn', 'is required without searchBase and searchFilter']);
  if (isSearched && searchBase === undefined) found.push(['searchBase', 'is required for a search']);
  if (isSearched && searchFilter === undefined) found.push(['searchFilter', 'is required for a search']);
  if ((bindDn === undefined) !== (bindPassword === undefined)) {
    found.push([bindDn === undefined ? 'bindDn' : 'bindPassword', 'is required, as the other one is given']);
  }
  return found;
}

function isLdapUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname } = new URL(text);
  return /^ldaps?:$/.test(protocol) && hostname !== '' && username === '' && password === '';
}

const oauthSettings = z.object({
  tokenUrl: webhookUrl(),
  clientId: requiredText(500),
  clientSecret: secret().optional(),
  clientAuth: z.enum(['post', 'basic'], 'must be post or basic').default('post'),
  scope: requiredText(1000).optional(),
  audience: requiredText(1000).optional(),
  realm: requiredText(200).optional(),
});

const cognitoSettings = z.object({
  region: requiredText(30).regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'must be a region such as eu-central-1'),
  clientId: requiredText(200),
  clientSecret: secret().optional(),
  endpoint: webhookUrl().optional(),
});

const httpSource = z.object({ kind: z.literal('http'), ...common, settings: z.object({ url: webhookUrl() }) });
const otherSources = [
  z.object({ kind: z.literal('ldap'), ...common, settings: ldapSettings }),
  z.object({ kind: z.literal('oauth-password'), ...common, settings: oauthSettings }),
  z.object({ kind: z.literal('cognito'), ...common, settings: cognitoSettings }),
] as const;
const KINDS = 'must be http, ldap, oauth-password or cognito';

/** `POST /management/v1/password_sources`. */
export const newSource = z.discriminatedUnion('kind', [httpSource, ...otherSources], KINDS);
export type NewSource = z.output<typeof newSource>;

const newSecret = z
  .boolean('must be true or false')
  .default(false)
  .meta({ description: 'Replaces the secret that signs the requests; the new one is in the answer, and only once.' });

/** `PUT /management/v1/password_sources/{sourceId}`. */
export const changedSource = z.discriminatedUnion('kind', [httpSource.extend({ newSecret }), ...otherSources], KINDS);
export type ChangedSource = z.output<typeof changedSource>;

export const SOURCE_KINDS = ['http', 'ldap', 'oauth-password', 'cognito'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** The settings that are stored encrypted and never answered. */
export const SECRET_SETTINGS = ['clientSecret', 'bindPassword'] as const;

/** `POST /management/v1/password_sources/{sourceId}/_test`: the name of a user at the source. */
export const testBody = z.object({ userName: requiredText(500), password: requiredText(200) });

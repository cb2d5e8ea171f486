/**
 * The settings of a new or changed provider: what the body gives, with what the preset of its type says or with what is
 * stored; and what is wrong with them together.
 *
 * Guarantee: a stored secret never goes to another issuer or endpoint than the one it was given for. Addresses are https
 * and public, unless the service allows others.
 */
import { isDeepStrictEqual } from 'node:util';
import { type IdpType, OAUTH_TYPES, PRESETS } from '../../contract/idp-presets.ts';
import type { ChangedIdp, IdpSecrets, IdpSettings, NewIdp } from '../../contract/idps.ts';
import type { FieldViolation } from '../../platform/errors.ts';
import { targetProblem } from '../../platform/http/outgoing.ts';
import { badFields } from '../../platform/http/parse.ts';
import type { Draft, Idp } from './store.ts';

/** What the caller decides about. */
interface Rules {
  /** Allows http and private addresses. */
  allowPrivate: boolean;
}

/**
 * A new provider, completed by its preset.
 * @throws ApiError 400 IDP-INVALID
 */
export function newDraft({ type, name, clientId, ...given }: NewIdp, rules: Rules): Draft & { hasAliases: boolean } {
  const preset = PRESETS[type];
  const { privateKey, clientSecret, linking, fields, ...own } = given;
  const settings: IdpSettings = {
    ...defined({ issuer: preset.issuer, endpoints: preset.endpoints, clientAuth: preset.clientAuth }),
    scopes: [...preset.scopes],
    aliases: [...preset.aliases],
    subject: preset.subject,
    callbackPaths: [],
    domains: [],
    tenants: [],
    trustsAddresses: false,
    createDomains: [],
    isEnabled: true,
    ...defined(own),
    clientId,
    ...(preset.fields || fields ? { fields: { ...preset.fields, ...defined(fields ?? {}) } } : {}),
    ...(linking === undefined || linking === 'policy' ? {} : { linking }),
  };
  const secrets = defined({ clientSecret, privateKey });
  refuse(problemsOf(type, settings, secrets, rules));
  return { type, name: name ?? preset.name, settings, secrets, hasAliases: given.aliases !== undefined };
}

/**
 * A provider as it is after a change.
 * @param stored its secrets
 * @throws ApiError 400 IDP-INVALID
 */
export function changedDraft(
  before: Pick<Draft, 'type' | 'name' | 'settings'>,
  stored: IdpSecrets,
  { type, name, clientSecret, privateKey, linking, fields, ...given }: ChangedIdp,
  rules: Rules,
): Draft & { fields: string[] } {
  const { linking: ownLinking, ...kept } = before.settings;
  const rule = linking ?? ownLinking;
  const settings: IdpSettings = {
    ...kept,
    ...defined(given),
    ...(kept.fields || fields ? { fields: { ...kept.fields, ...defined(fields ?? {}) } } : {}),
    ...(rule === undefined || rule === 'policy' ? {} : { linking: rule }),
  };
  const sent = defined({ clientSecret, privateKey });
  const secrets: IdpSecrets = { ...stored, ...sent };
  const isElsewhere = addressesOf(before.settings) !== addressesOf(settings);
  const missing = isElsewhere ? Object.keys(stored).filter((secret) => !Object.hasOwn(sent, secret)) : [];
  refuse([
    ...(type === undefined || type === before.type ? [] : [problem('type', `must stay ${before.type}`)]),
    ...missing.map((secret) => problem(secret, 'is required, as the address changes')),
    ...problemsOf(before.type, settings, secrets, rules),
  ]);
  const after = { type: before.type, name: name ?? before.name, settings, secrets };
  return { ...after, fields: differing({ ...before, secrets: stored }, after) };
}

function refuse(violations: FieldViolation[]): void {
  if (violations.length > 0) throw badFields('IDP-INVALID', violations);
}

function problem(field: string, description: string): FieldViolation {
  return { field, description };
}

/** What is wrong with settings together. */
function problemsOf(type: IdpType, settings: IdpSettings, secrets: IdpSecrets, rules: Rules): FieldViolation[] {
  const { issuer, endpoints, tenants, trustsAddresses } = settings;
  const isMicrosoft = type === 'microsoft';
  return [
    ...(OAUTH_TYPES.has(type) ? withoutDiscovery(type, settings) : withDiscovery(type, settings)),
    ...(type === 'apple' ? appleProblems(settings, secrets) : notApple(settings, secrets)),
    ...(tenants.length > 0 && !isMicrosoft ? [problem('tenants', 'must be empty, unless the type is microsoft')] : []),
    ...(trustsAddresses && isMicrosoft
      ? [problem('trustsAddresses', 'must be false: any tenant of Microsoft may claim any address')]
      : []),
    ...Object.entries({ issuer, ...named(endpoints) }).flatMap(([name, url]) => {
      const description = url === undefined ? undefined : targetProblem(url, rules.allowPrivate);
      return description === undefined ? [] : [problem(name, description)];
    }),
  ];
}

function named(endpoints: IdpSettings['endpoints']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(endpoints ?? {}).map(([name, url]) => [`endpoints.${name}`, url]));
}

function withDiscovery(type: IdpType, { issuer, endpoints }: IdpSettings): FieldViolation[] {
  return [
    ...(issuer === undefined ? [problem('issuer', 'is required')] : []),
    ...(endpoints ? [problem('endpoints', `must not be set: a provider of the type ${type} has discovery`)] : []),
  ];
}

function withoutDiscovery(type: IdpType, { issuer, endpoints }: IdpSettings): FieldViolation[] {
  return [
    ...(issuer === undefined
      ? []
      : [problem('issuer', `must not be set: a provider of the type ${type} has endpoints`)]),
    ...(endpoints ? [] : [problem('endpoints', 'is required')]),
  ];
}

function appleProblems({ apple }: IdpSettings, { clientSecret, privateKey }: IdpSecrets): FieldViolation[] {
  return [
    ...(apple ? [] : [problem('apple', 'is required')]),
    ...(privateKey === undefined ? [problem('privateKey', 'is required')] : []),
    ...(clientSecret === undefined ? [] : [problem('clientSecret', 'must not be set: the privateKey signs it')]),
  ];
}

function notApple({ apple }: IdpSettings, { privateKey }: IdpSecrets): FieldViolation[] {
  const given = [apple && 'apple', privateKey && 'privateKey'].filter((name) => name !== undefined);
  return given.map((name) => problem(name, 'must not be set, unless the type is apple'));
}

/** What the word of a provider depends on, as one text: another one is another provider, whose word is its own. */
export function voiceOf({ settings }: Pick<Idp, 'settings'>): string {
  const { clientId, subject, tenants } = settings;
  return JSON.stringify([addressesOf(settings), clientId, subject, tenants]);
}

/** Where secrets and tokens go, as one text. */
function addressesOf({ issuer, endpoints }: IdpSettings): string {
  const { authorization, token, userInfo, emails } = endpoints ?? {};
  return JSON.stringify([issuer, authorization, token, userInfo, emails].map((url) => url ?? null));
}

/** Names of what differs; never a value. */
function differing(before: Draft, after: Draft): string[] {
  const flat = ({ name, settings, secrets }: Draft): Record<string, unknown> => ({ name, ...settings, ...secrets });
  const [old, young] = [flat(before), flat(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(young)]);
  return [...names].filter((name) => !isDeepStrictEqual(old[name], young[name])).sort();
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members that are given. */
function defined<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** `muster idps`: external identity providers, where users sign in (Google, Microsoft, a company's own). */
import { readFile } from 'node:fs/promises';
import type { Answer, Sent } from '../../contract/client.ts';
import { IDP_TYPES } from '../../contract/idp-presets.ts';
import { command, group, listCommand } from '../command.ts';
import { argument, flag, text, YES } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg } from '../service/find.ts';
import { askSecret, confirm } from '../terminal/ask.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, Failure, Interrupted, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** The id in examples. */
const ID = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const IDP = argument('id of the provider, as `idps list` shows it');
const OWNER = {
  org: text('id, exact name or domain of the organization'),
  instance: flag('of the instance, for the users of all organizations (IAM_OWNER)'),
} as const;

const list = (describe: string) => ({ ...text(describe), array: true }) as const;
const URLS = ['authorization', 'token', 'userInfo', 'emails'] as const;

/** What a provider consists of; each option replaces what was there. */
const SETTINGS = {
  issuer: text('where its discovery document is, unless the preset knows'),
  'client-id': text('id of our client there; best the one that the old system used'),
  'client-secret-file': text('file with the secret of our client; without it MUSTER_IDP_SECRET, or a question'),
  'private-key-file': text('Apple: the file .p8 of the key that signs the client secret'),
  'team-id': text('Apple: id of the team'),
  'key-id': text('Apple: id of the key'),
  scope: list('scopes that are asked for'),
  alias: list('names under which imported links know the provider'),
  subject: text('claim or field with the id of a person'),
  'callback-path': list('paths of the old system on which it answers; the first is the redirect URI'),
  domain: list('domains of addresses whose users are led straight there'),
  tenant: list('Microsoft: the tenants whose users may sign in'),
  'create-domain': list('domains of addresses for which it may create users'),
  'trust-addresses': { type: 'boolean', describe: 'whether its word that an address is verified may link a user' },
  linking: {
    ...text('what happens with an account that is linked to no user'),
    choices: ['refuse', 'confirm', 'verifiedAddress', 'create', 'policy'],
  },
  endpoint: list('NAME=URL of authorization, token, userInfo and emails, for a provider without discovery'),
  field: list('NAME=FIELD: where email, emailVerified, name, givenName, familyName and userName are'),
  enabled: { type: 'boolean', describe: '--no-enabled switches it off' },
} as const;

type Given = {
  [name in 'issuer' | 'clientId' | 'clientSecretFile' | 'privateKeyFile' | 'teamId' | 'keyId' | 'subject' | 'linking']?:
    | string
    | undefined;
} & {
  [name in 'scope' | 'alias' | 'callbackPath' | 'domain' | 'tenant' | 'createDomain' | 'endpoint' | 'field']?:
    | string[]
    | undefined;
} & { trustAddresses?: boolean | undefined; enabled?: boolean | undefined };

/** The settings as the API takes them; the service checks them. */
async function settingsOf(given: Given): Promise<Sent<'changeIdp'>> {
  const { teamId, keyId, privateKeyFile, endpoint, field } = given;
  return {
    issuer: given.issuer,
    clientId: given.clientId,
    privateKey: privateKeyFile === undefined ? undefined : await secretIn(privateKeyFile),
    apple: teamId === undefined && keyId === undefined ? undefined : { teamId: teamId ?? '', keyId: keyId ?? '' },
    scopes: given.scope,
    aliases: given.alias,
    subject: given.subject,
    callbackPaths: given.callbackPath,
    domains: given.domain,
    tenants: given.tenant,
    createDomains: given.createDomain,
    trustsAddresses: given.trustAddresses,
    linking: given.linking as Sent<'changeIdp'>['linking'],
    endpoints: endpoint && (pairsOf('--endpoint', endpoint, URLS) as Sent<'changeIdp'>['endpoints']),
    fields: field && pairsOf('--field', field),
    isEnabled: given.enabled,
  };
}

/** `NAME=VALUE` of a list. @throws Failure (usage) */
function pairsOf(option: string, given: readonly string[], names?: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const [, name = '', value = ''] = /^(\w+)=(.+)$/.exec(pair) ?? [];
      if (value !== '' && (names === undefined || names.includes(name))) return [name, value];
      throw wrongUsage(
        `${option} must be NAME=VALUE${names ? ` with one of ${names.join(', ')}` : ''}, not "${pair}".`,
      );
    }),
  );
}

/** The text of a file, without the end of its line. @throws Failure (usage) */
async function secretIn(file: string): Promise<string> {
  const read = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw wrongUsage(`${file} cannot be read: ${error.code}.`);
  });
  const secret = read.trim();
  if (secret === '') throw wrongUsage(`${file} is empty.`);
  return secret;
}

/**
 * The client secret: of the file, of the environment, or typed on the terminal.
 * @param isAsked whether to ask where neither has it
 */
async function clientSecret(
  out: Output,
  env: Shell['env'],
  { file, isAsked }: { file: string | undefined; isAsked: boolean },
): Promise<string | undefined> {
  if (file !== undefined) return secretIn(file);
  const inEnvironment = env.MUSTER_IDP_SECRET;
  if (inEnvironment || !isAsked || !out.input.isTTY) return inEnvironment || undefined;
  const question = 'Client secret (not shown; empty: none): ';
  return (await askSecret(out, question, new Interrupted('Nothing was added.'))) || undefined;
}

const add = command({
  usage: 'add [name]',
  describe: 'add a provider; its preset knows its address, scopes and the names that exports have for it',
  options: {
    name: { type: 'string', describe: 'what its button says; default: the name of the preset' },
    preset: { ...text('what the provider is'), choices: IDP_TYPES, demandOption: true },
    ...OWNER,
    ...SETTINGS,
    'client-id': { ...SETTINGS['client-id'], demandOption: true },
  },
  examples: [
    [
      '$0 idps add --preset google --client-id 4074.apps.googleusercontent.com --client-secret-file google.secret --instance',
      'for the users of all organizations',
    ],
    [
      "$0 idps add 'Acme' --preset oidc --issuer https://sso.acme.example --client-id muster --alias acme-oidc --org acme",
      'the own provider of a company; asks for the secret',
    ],
    [
      '$0 idps add --preset google --client-id 4074.apps.googleusercontent.com --callback-path /login/callback',
      'with the redirect URI of the old system, whose host name moved here',
    ],
  ],
  async run({ out, api }, { name, preset, org, instance, shell, ...given }) {
    const isAsked = preset !== 'apple';
    const secret = await clientSecret(out, shell.env, { file: given.clientSecretFile, isAsked });
    const settings = await settingsOf(given);
    const body = { ...settings, type: preset, name, clientId: given.clientId, clientSecret: secret };
    const owner = await ownerOf(api, { org, instance });
    const added =
      owner === 'instance'
        ? await api.call('addInstanceIdp', { body })
        : await api.call('addIdp', { body, org: owner });
    const { idp } = await read(api, added.idpId);
    out.result({ ...added, redirectUri: idp.redirectUri });
    out.line(`provider id   ${added.idpId}`);
    out.line(`redirect URI  ${idp.redirectUri}`);
    if (!out.json) out.note('Register the redirect URI at the provider, unless it is there already.');
  },
});

/** Of which owner: `instance`, or the id of an organization; undefined: the caller's own. @throws Failure (usage) */
async function ownerOf(
  api: Api,
  { org, instance }: { org?: string | undefined; instance: boolean },
): Promise<string | undefined> {
  if (instance && org !== undefined) throw wrongUsage('A provider is of an organization or of the instance, not both.');
  if (instance) return 'instance';
  return org === undefined ? undefined : findOrg(api, org);
}

const listAll = listCommand({
  describe: 'list the providers of an organization or of the instance',
  options: OWNER,
  examples: [
    ['$0 idps list --org acme', ''],
    ['$0 idps list --instance', ''],
  ],
  async read(api, given) {
    const owner = await ownerOf(api, given);
    return owner === 'instance' ? api.call('listInstanceIdps') : api.call('listIdps', { org: owner });
  },
  columns: ['PROVIDER ID', 'NAME', 'TYPE', 'STATE', 'ALIASES'],
  row: ({ idpId, name, type, isEnabled, aliases }) => [idpId, name, type, isEnabled ? 'on' : 'off', aliases.join(' ')],
});

/** A provider of an organization, or of the instance. @throws Failure when it is neither */
async function read(api: Api, idpId: string): Promise<Answer<'getIdp'>> {
  try {
    return await api.call('getIdp', { idpId });
  } catch (error) {
    if (!(error instanceof Failure) || error.id !== 'IDP-NOT-FOUND') throw error;
    return api.call('getInstanceIdp', { idpId });
  }
}

const isOfInstance = ({ idp }: Answer<'getIdp'>) => idp.details.resourceOwner === 'instance';

const show = command({
  usage: 'show <idp>',
  describe: 'show the settings of a provider, without its secrets',
  options: { idp: IDP },
  examples: [[`$0 idps show ${ID}`, '']],
  async run({ out, api }, given) {
    const found = await read(api, given.idp);
    out.result(found);
    const { details, endpoints, fields, apple, hasSecret, isEnabled, ...idp } = found.idp;
    const lines = {
      ...idp,
      ...endpoints,
      ...apple,
      secret: hasSecret ? 'stored' : 'none',
      state: isEnabled ? 'on' : 'off',
      ...Object.fromEntries(Object.entries(fields ?? {}).map(([name, field]) => [`field ${name}`, field])),
      owner: details.resourceOwner,
    };
    for (const [label, value] of Object.entries(lines)) {
      const words = Array.isArray(value) ? value.join(' ') : String(value);
      if (words !== '') out.line(`${label.padEnd(20)} ${words}`);
    }
  },
});

const check = command({
  usage: 'check <idp>',
  describe: 'ask a provider for its metadata and keys, and try the client there; nobody signs in',
  options: { idp: IDP },
  examples: [[`$0 idps check ${ID}`, 'exits with 1 if something is wrong']],
  async run({ out, api }, { idp: idpId, shell }) {
    const found = await read(api, idpId);
    const answer = await api.call(isOfInstance(found) ? 'checkInstanceIdp' : 'checkIdp', { idpId });
    out.result(answer);
    for (const { name, ok, message } of answer.checks) out.line(`${ok ? 'ok' : 'wrong'}  ${name}: ${message}`);
    if (!answer.isUsable) shell.exitCode = EXIT.failed;
  },
});

const update = command({
  usage: 'update <idp>',
  describe: 'change a provider; what is not named stays',
  options: { idp: IDP, name: text('what its button says'), ...SETTINGS },
  examples: [
    [`$0 idps update ${ID} --alias google-oauth2 google.com`, 'the names of two old systems; replaces all'],
    [`$0 idps update ${ID} --client-secret-file new.secret`, 'a new secret'],
    [`$0 idps update ${ID} --no-enabled`, 'switch it off'],
  ],
  async run({ out, api }, { idp: idpId, name, shell, ...given }) {
    const found = await read(api, idpId);
    const secret = await clientSecret(out, shell.env, { file: given.clientSecretFile, isAsked: false });
    const body = { ...(await settingsOf(given)), name, clientSecret: secret };
    const id = isOfInstance(found) ? 'changeInstanceIdp' : 'changeIdp';
    out.result(await api.call(id, { idpId }, { body }));
    out.line(`Provider ${idpId} is changed.`);
  },
});

const remove = command({
  usage: 'remove <idp>',
  describe: 'remove a provider; nobody signs in by it any more, and their links stay',
  options: { idp: IDP, yes: YES },
  examples: [[`$0 idps remove ${ID}`, 'asks for confirmation']],
  async run({ out, api }, { idp: idpId, yes }) {
    const found = await read(api, idpId);
    if (!yes) await confirm(out, `Remove provider ${found.idp.name} (${idpId})? This cannot be undone.`);
    out.result(await api.call(isOfInstance(found) ? 'removeInstanceIdp' : 'removeIdp', { idpId }));
    out.line(`Provider ${idpId} is removed.`);
  },
});

export const idps = group('idps', 'external identity providers: list, add, show, check, update, remove', [
  listAll,
  add,
  show,
  check,
  update,
  remove,
]);

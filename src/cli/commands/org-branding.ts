/** `muster orgs branding`: the name, logo, colours, links and sentences of an organization, or of the service. */
import { readFile } from 'node:fs/promises';
import type { Answer, Sent } from '../../contract/client.ts';
import { command } from '../command.ts';
import { flag, text } from '../options.ts';
import { findOrg } from '../service/find.ts';
import { wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

type Policy = Answer<'getBranding'>['policy'];
type Field = Policy['own'][number];

/** The option of each field. The service checks the values. */
const OPTIONS = {
  name: ['name', 'the name on pages and in mails'],
  logo: ['logo', 'file with a PNG or WebP'],
  primaryColor: ['primary-color', 'of links and buttons, such as #0b7a3e'],
  backgroundColor: ['background-color', 'behind the card of pages'],
  theme: ['theme', 'auto, light or dark'],
  cornerRadius: ['corner-radius', 'of buttons and fields, in pixels'],
  'links.help': ['help-link', 'https address of the help'],
  'links.terms': ['terms-link', 'https address of the terms of use'],
  'links.privacy': ['privacy-link', 'https address of what is said about privacy'],
  supportEmail: ['support-email', 'address where people ask for help'],
  senderName: ['sender-name', 'name of the sender of mails'],
  language: ['language', 'of pages and mails where the person wishes for none, such as de'],
  'texts.verifyEmail': ['verify-email-text', 'file with sentences for the mail that confirms an address'],
  'texts.initialise': ['initialise-text', 'file with sentences for the mail that sets up an account'],
  'texts.addPasskey': ['add-passkey-text', 'file with sentences for the mail that adds a passkey'],
  'texts.resetPassword': ['reset-password-text', 'file with sentences for the mail that resets a password'],
} as const satisfies Record<Field, readonly [option: string, describe: string]>;

const FIELDS = Object.entries(OPTIONS) as [Field, (typeof OPTIONS)[Field]][];
/** Options of yargs, by name. */
const values = Object.fromEntries(FIELDS.map(([, [name, describe]]) => [name, text(describe)]));

export const branding = command({
  usage: 'branding [org]',
  describe: 'show or set the name, logo, colours, links and sentences of pages and mails',
  options: {
    org: { type: 'string', describe: 'id, exact name or domain' },
    instance: flag('of the service, for what organizations have not set (IAM_OWNER)'),
    ...values,
    reset: {
      choices: FIELDS.map(([, [name]]) => name),
      array: true,
      requiresArg: true,
      describe: 'options that are again those of the service',
    },
    'reset-all': flag('from now on, the branding of the service'),
  },
  examples: [
    ['$0 orgs branding acme', 'show it'],
    ['$0 orgs branding acme --name Acme --logo acme.png --primary-color "#0b7a3e"', 'set three, leave the others'],
    ['$0 orgs branding acme --reset logo', 'the logo of the service again'],
    ['$0 orgs branding --instance --language de', 'for every organization that has not set its own'],
  ],
  async run({ out, api }, { instance, reset, resetAll, ...given }) {
    if (instance === (given.org !== undefined)) throw wrongUsage('Name an organization, or the service by --instance.');
    if (resetAll && instance) throw wrongUsage('--reset-all is for an organization.');
    const body = await bodyOf(given as Readonly<Record<string, unknown>>, reset ?? []);
    const isChange = Object.keys(body).length > 0;
    if (isChange && resetAll)
      throw wrongUsage('--reset-all takes everything of the service, so nothing else can be set.');
    const org = given.org === undefined ? undefined : await findOrg(api, given.org);
    if (resetAll) await api.call('resetBranding', { org });
    if (isChange && instance) await api.call('updateDefaultBranding', { body });
    if (isChange && !instance) await api.call('updateBranding', { org, body });
    const answer = await (instance ? api.call('getInstanceBranding') : api.call('getBranding', { org }));
    out.result(answer);
    show(out, org, answer.policy);
  },
});

type Body = Sent<'updateBranding'>;

/** @throws Failure for a file that cannot be read, or a radius that is no number */
async function bodyOf(given: Readonly<Record<string, unknown>>, reset: readonly string[]): Promise<Body> {
  const body: Record<string, unknown> = {};
  for (const [field, [option]] of FIELDS) {
    const value = given[option];
    if (typeof value !== 'string') continue;
    const [name, inner] = field.split('.') as [string, string?];
    const read = await readValue(field, value);
    body[name] = inner === undefined ? read : { ...(body[name] as object | undefined), [inner]: read };
  }
  const fields = FIELDS.filter(([, [option]]) => reset.includes(option)).map(([field]) => field);
  return { ...body, ...(fields.length > 0 ? { reset: fields } : {}) };
}

async function readValue(field: Field, value: string): Promise<string | number> {
  if (field === 'cornerRadius') {
    if (/^\d{1,3}$/.test(value)) return Number(value);
    throw wrongUsage(`--corner-radius must be a whole number of pixels; it is "${value}".`);
  }
  if (field === 'logo') {
    const bytes = await fileOf(value);
    return `data:image/${bytes[0] === 0x89 ? 'png' : 'webp'};base64,${bytes.toString('base64')}`;
  }
  return field.startsWith('texts.') ? (await fileOf(value)).toString('utf8').trim() : value;
}

async function fileOf(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw wrongUsage(`${path} cannot be read (${error.code}).`, 'Check the path.');
  });
}

/** @param org undefined: the service */
function show(out: Output, org: string | undefined, policy: Policy): void {
  const { own, colors } = policy;
  const shown = FIELDS.flatMap(([field, [option]]) => {
    const value = shownValue(policy, field);
    return value === undefined ? [] : [[`--${option}`, value, own.includes(field) || !org ? '' : 'of the service']];
  });
  out.table(['OPTION', 'VALUE', ''], shown);
  if (policy.isShifted) {
    const { light, dark } = colors;
    out.line('A colour would be hard to read, so it is shown darker or lighter:');
    out.line(`links and buttons ${light.accent} (dark ${dark.accent}), background ${light.page} (dark ${dark.page}).`);
  }
  if (org === undefined) out.line('This is the branding of the service.');
  else out.line(policy.isDefault ? `${org} has the branding of the service.` : `${org} has a branding of its own.`);
}

function shownValue(policy: Policy, field: Field): string | undefined {
  if (field === 'logo') return policy.logoUrl;
  const [name, inner] = field.split('.') as [keyof Policy, string?];
  const value: unknown = policy[name];
  const shown = inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner];
  return shown === undefined ? undefined : String(shown).split('\n')[0];
}

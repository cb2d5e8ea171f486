/** `muster orgs sign-in-names|login-policy`: how the users of an organization sign in. */
import type { Answer } from '../../contract/client.ts';
import { command } from '../command.ts';
import { flag, ORG } from '../options.ts';
import { findOrg } from '../service/find.ts';
import { wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

export const signInNames = command({
  usage: 'sign-in-names <org>',
  describe: 'show or set the names that users sign in with',
  options: {
    org: ORG,
    set: {
      choices: ['userName', 'loginName', 'email'],
      array: true,
      requiresArg: true,
      describe: 'the names that sign in from now on',
    },
  },
  examples: [
    ['$0 orgs sign-in-names acme', 'show them'],
    ['$0 orgs sign-in-names acme --set userName email', 'no longer with the domain'],
  ],
  async run({ out, api }, { set, ...given }) {
    const org = await findOrg(api, given.org);
    if (set) await api.call('setSignInNames', { org, body: { signInNames: set } });
    const found = await api.call('getSignInNames', { org });
    out.result(found);
    out.line(`Users of ${org} sign in with: ${found.signInNames.join(', ')}`);
  },
});

type Policy = Answer<'getLoginPolicy'>['policy'];

/** What each choice means. */
const MAIL_CODE = {
  off: 'nobody signs in with a code by mail',
  withoutPassword: 'users without a password sign in with a code by mail',
  all: 'everybody with a verified address may sign in with a code by mail, and users without a password',
} satisfies Record<Policy['mailCode'], string>;
const SMS_CODE = {
  off: 'nobody signs in with a code by text message',
  withoutPassword: 'users without a password sign in with their verified number and a code by text message',
  all: 'everybody with a verified number may sign in with it and a code by text message',
} satisfies Record<Policy['smsCode'], string>;
const INIT_MAIL = {
  always: 'imports mail every user without a password, or with an address that is not verified',
  unlessWayIn: 'imports mail only users who cannot sign in in another way',
} satisfies Record<Policy['initMail'], string>;
const FORCE_MFA = {
  false: 'a second factor is asked of those who have one',
  true: 'users without a second factor set one up before they are signed in',
};

const PASSKEYS = {
  true: 'users may have passkeys and sign in with them',
  false: 'nobody signs in with a passkey',
};
const DELETE_ACCOUNT = {
  false: 'users ask an administrator to delete their account',
  true: 'users may delete their own account',
};
const LINKING = {
  refuse: 'an account at a provider that is linked to no user signs in nobody',
  confirm: 'who comes with such an account signs in once in another way, and is linked',
  verifiedAddress: 'such an account is linked to the user with the same address, where both sides have verified it',
  create: 'such an account gets a new user, for the domains of its provider',
} satisfies Record<Policy['linking'], string>;

/** What the choice of a flag means; undefined: not chosen. */
const chosen = (value: 'true' | 'false' | undefined) => (value === undefined ? undefined : value === 'true');

const oneOf = <K extends string>(meanings: Readonly<Record<K, string>>, describe: string) =>
  ({ choices: Object.keys(meanings) as K[], requiresArg: true, describe }) as const;

export const loginPolicy = command({
  usage: 'login-policy [org]',
  describe:
    'show or set who signs in with codes, passkeys or a second factor, and whom providers and imports add or mail',
  options: {
    org: { type: 'string', describe: 'id, exact name or domain' },
    instance: flag('the policy of the service, which organizations without their own have (IAM_OWNER)'),
    'mail-code': oneOf(MAIL_CODE, 'who may sign in with a code by mail'),
    'sms-code': oneOf(SMS_CODE, 'who may sign in with a number and a code by text message'),
    'init-mail': oneOf(INIT_MAIL, 'whom imports mail'),
    'force-mfa': oneOf(FORCE_MFA, 'whether everybody needs a second factor'),
    linking: oneOf(LINKING, 'what becomes of an account at a provider that is linked to no user'),
    passkeys: oneOf(PASSKEYS, 'whether users may have passkeys'),
    'delete-account': oneOf(DELETE_ACCOUNT, 'whether users may delete their own account'),
    reset: flag('from now on, the policy of the service'),
  },
  examples: [
    ['$0 orgs login-policy acme', 'show it'],
    ['$0 orgs login-policy acme --mail-code all --init-mail unlessWayIn', 'set two, leave the others'],
    ['$0 orgs login-policy --instance --linking confirm', 'for every organization without a policy of its own'],
  ],
  async run({ out, api }, { reset, instance, ...given }) {
    const { mailCode, smsCode, initMail, linking } = given;
    const flags = {
      forceMfa: chosen(given.forceMfa),
      passkeys: chosen(given.passkeys),
      deleteAccount: chosen(given.deleteAccount),
    };
    const body = { mailCode, smsCode, initMail, linking, ...flags };
    const isChange = Object.values(body).some((value) => value !== undefined);
    if (instance === (given.org !== undefined)) throw wrongUsage('Name an organization, or the service by --instance.');
    if (reset && instance) throw wrongUsage('--reset is for an organization.');
    if (isChange && reset) throw wrongUsage('--reset takes the policy of the service, so nothing else can be set.');
    const org = given.org === undefined ? undefined : await findOrg(api, given.org);
    if (reset) await api.call('resetLoginPolicy', { org });
    if (isChange && instance) await api.call('updateDefaultLoginPolicy', { body });
    if (isChange && !instance) await api.call('updateLoginPolicy', { org, body });
    const answer = await (instance ? api.call('getInstanceLoginPolicy') : api.call('getLoginPolicy', { org }));
    out.result(answer);
    showPolicy(out, org, answer.policy);
  },
});

/** @param org undefined: the service */
function showPolicy(out: Output, org: string | undefined, policy: Policy): void {
  out.table(
    ['OPTION', 'VALUE', 'MEANING'],
    [
      ['--mail-code', policy.mailCode, MAIL_CODE[policy.mailCode]],
      ['--sms-code', policy.smsCode, SMS_CODE[policy.smsCode]],
      ['--init-mail', policy.initMail, INIT_MAIL[policy.initMail]],
      ['--force-mfa', String(policy.forceMfa), FORCE_MFA[`${policy.forceMfa}`]],
      ['--linking', policy.linking, LINKING[policy.linking]],
      ['--passkeys', String(policy.passkeys), PASSKEYS[`${policy.passkeys}`]],
      ['--delete-account', String(policy.deleteAccount), DELETE_ACCOUNT[`${policy.deleteAccount}`]],
    ],
  );
  if (org === undefined) out.line('This is the policy of the service.');
  else out.line(policy.isDefault ? `${org} has the policy of the service.` : `${org} has a policy of its own.`);
}

/** The prediction of how a user signs in, as a function of what is known of the user, the policy and the options. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { LoginPolicy } from '../../../src/contract/policies.ts';
import { CAUSES, CHANGES, WAYS } from '../../../src/contract/sign-in.ts';
import { FACT, itemFacts, oldSignInOf, USUAL } from '../../../src/imports/entries/facts.ts';
import type { PendingItem } from '../../../src/imports/entries/item.ts';
import { linkNames, passkeysHere } from '../../../src/imports/entries/link-names.ts';
import {
  KEY_HERE,
  LINKED,
  ORG_KIND,
  PASSKEY_HERE,
  predictSignIn,
  WAY_MASK,
  wayOfBits,
} from '../../../src/imports/entries/sign-in.ts';
import { USUAL_RULES, validateEntry } from '../../../src/imports/entries/validate.ts';
import { markOf } from '../../../src/passwords/marks.ts';
import type { OldSignIn } from '../../../src/sources/entry.ts';
import { entry, SECRETS } from '../../support/imports/imports.ts';

interface Case {
  user?: Record<string, unknown>;
  state?: string;
  old?: OldSignIn;
  atSource?: boolean;
  policy?: Partial<LoginPolicy> & { onlyAddresses?: boolean };
  held?: boolean;
  /** The import leaves users of company connections out of mail codes. */
  leaves?: boolean;
  isLinked?: boolean;
  hasGateway?: boolean;
  /** The RP id of the service. */
  rpId?: string;
  /** Facts that are judged later. */
  judged?: number;
}

const OFF: Partial<LoginPolicy> = { mailCode: 'off' };
const QUIET: Partial<LoginPolicy> = { initMail: 'unlessWayIn' };
const ADDRESSES = { onlyAddresses: true };
const NO_HASH = { hashedPassword: undefined };
const UNVERIFIED = { email: { email: 'ann@example.com', isEmailVerified: false } };
const BY_LINK = { idps: [{ configId: 'google', externalUserId: '1', displayName: '' }] };
const NUMBER = { phone: { phone: '+41791112233', isPhoneVerified: true } };
const PHONE_ONLY = { ...NO_HASH, ...NUMBER, email: undefined, userName: 'ann' };
const spelt = (phone: string) => ({ ...PHONE_ONLY, phone: { phone, isPhoneVerified: true } });
const TEXTS: Partial<LoginPolicy> = { smsCode: 'withoutPassword' };
const WISH = { requestPasswordlessRegistration: true };
const TOTP = { secret: 'GEZDGNBVGY3TQOJQ' };
const HERE = 'auth.example.com';
const KEY = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
const passkeyFor = (rpId: string, secondFactorOnly = false) => ({
  passkeys: [{ credentialId: 'AAECAwQFBgcICQoLDA0ODw', publicKey: KEY, rpId, secondFactorOnly }],
});
const NO_ADDRESS = { email: undefined, userName: 'ann' };

/** What, of whom, and the expected way, cause and changes. */
const TABLE: [Case, string][] = [
  [{}, 'PASSWORD'],
  [{ policy: OFF }, 'PASSWORD'],
  [{ policy: { mailCode: 'all' } }, 'PASSWORD'],
  [{ user: { ...NO_HASH, password: 'a plain one' } }, 'PASSWORD'],
  [{ user: { passwordChangeRequired: true } }, 'PASSWORD NEW_PASSWORD'],
  [{ user: UNVERIFIED }, 'PASSWORD TYPES_USER_NAME GETS_MAIL'],
  [{ user: { ...UNVERIFIED, userName: 'Ann@Example.com' } }, 'PASSWORD GETS_MAIL'],
  [{ user: UNVERIFIED, policy: QUIET }, 'PASSWORD TYPES_USER_NAME'],
  [{ user: UNVERIFIED, held: true }, 'PASSWORD TYPES_USER_NAME'],
  [{ user: NO_ADDRESS }, 'PASSWORD'],
  [{ policy: ADDRESSES }, 'PASSWORD'],
  [{ user: UNVERIFIED, policy: ADDRESSES }, 'NONE/ADDRESS_NOT_VERIFIED GETS_MAIL'],
  [{ user: UNVERIFIED, policy: ADDRESSES, isLinked: true }, 'PROVIDER/ADDRESS_NOT_VERIFIED GETS_MAIL'],
  [{ user: { ...NO_HASH, ...UNVERIFIED }, atSource: true, policy: ADDRESSES }, 'NONE/ADDRESS_NOT_VERIFIED GETS_MAIL'],
  [{ user: { ...NO_HASH, ...UNVERIFIED }, policy: ADDRESSES }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ user: UNVERIFIED, old: { password: 'perhaps' }, policy: ADDRESSES }, 'MAIL_CODE/UNKNOWN_PASSWORD GETS_MAIL'],
  [{ user: NO_ADDRESS, policy: ADDRESSES }, 'NONE/NO_ADDRESS'],
  [{ user: BY_LINK }, 'PASSWORD LINK_UNUSED'],
  [{ old: { ways: ['password', 'enterprise'] } }, 'PASSWORD LINK_UNUSED'],
  [{ old: { ways: ['enterprise'] } }, 'PASSWORD ENTERPRISE_LINK_UNUSED'],
  [{ old: { lost: ['secondFactor', 'passkey'] } }, 'PASSWORD SECOND_FACTOR_LOST PASSKEYS_LOST'],
  [{ old: { lost: ['secondFactor'] }, policy: { forceMfa: true } }, 'PASSWORD SECOND_FACTOR_RE_ENROL'],
  [{ old: { lost: ['secondFactor'] }, user: { otpCode: 'JBSWY3DPEHPK3PXP' } }, 'PASSWORD'],
  [{ old: { lost: ['recoveryCodes'] } }, 'PASSWORD RECOVERY_CODES_LOST'],
  [{ user: { email: { email: 'x@PrivateRelay.appleid.com', isEmailVerified: true } } }, 'PASSWORD RELAY_ADDRESS'],
  [{ user: NO_HASH, atSource: true }, 'PASSWORD_SOURCE/PASSWORD_AT_SOURCE'],
  [
    { user: { ...NO_HASH, ...UNVERIFIED }, atSource: true },
    'PASSWORD_SOURCE/PASSWORD_AT_SOURCE TYPES_USER_NAME GETS_MAIL',
  ],
  [{ user: NO_HASH }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ user: NO_HASH, policy: QUIET }, 'MAIL_CODE/NO_PASSWORD'],
  [{ user: NO_HASH, policy: { mailCode: 'all' }, held: true }, 'MAIL_CODE/NO_PASSWORD'],
  [{ user: NO_HASH, old: { ways: ['mailCode'] } }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ user: { ...NO_HASH, ...BY_LINK } }, 'MAIL_CODE/PROVIDER_NOT_SET_UP GETS_MAIL'],
  [{ user: NO_HASH, old: { ways: ['provider'] } }, 'MAIL_CODE/PROVIDER_NOT_SET_UP GETS_MAIL'],
  [{ user: { ...NO_HASH, ...BY_LINK }, old: { ways: ['password', 'provider'] } }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ user: NO_HASH, old: { ways: ['enterprise'] } }, 'MAIL_CODE/PROVIDER_NOT_SET_UP GETS_MAIL ENTERPRISE_LINK_UNUSED'],
  [{ user: NO_HASH, old: { ways: ['enterprise'] }, leaves: true }, 'NONE/ONLY_ENTERPRISE ENTERPRISE_LINK_UNUSED'],
  [
    { user: NO_HASH, old: { ways: ['enterprise'] }, leaves: true, policy: OFF },
    'NONE/ONLY_ENTERPRISE ENTERPRISE_LINK_UNUSED',
  ],
  [
    { user: { ...NO_HASH, ...NO_ADDRESS }, old: { ways: ['enterprise'] }, leaves: true },
    'NONE/NO_ADDRESS ENTERPRISE_LINK_UNUSED',
  ],
  [{ old: { ways: ['enterprise'] }, leaves: true }, 'PASSWORD ENTERPRISE_LINK_UNUSED'],
  [
    { old: { ways: ['enterprise'], password: 'perhaps' }, leaves: true },
    'PASSWORD/UNKNOWN_PASSWORD ENTERPRISE_LINK_UNUSED',
  ],
  [
    { user: UNVERIFIED, old: { ways: ['enterprise'] }, leaves: true },
    'PASSWORD TYPES_USER_NAME GETS_MAIL ENTERPRISE_LINK_UNUSED',
  ],
  [{ user: NO_HASH, leaves: true }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ old: { password: 'unknown' } }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ old: { password: 'perhaps' } }, 'MAIL_CODE/UNKNOWN_PASSWORD'],
  [{ old: { password: 'perhaps' }, policy: OFF }, 'PASSWORD/UNKNOWN_PASSWORD'],
  [{ old: { password: 'perhaps' }, user: NO_ADDRESS }, 'PASSWORD/UNKNOWN_PASSWORD'],
  [{ old: { password: 'perhaps' }, user: { ...NO_HASH, password: 'a plain one' } }, 'MAIL_CODE/UNKNOWN_PASSWORD'],
  [{ old: { password: 'perhaps' }, user: NO_HASH }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ user: NO_HASH, policy: OFF }, 'INIT_MAIL/NO_PASSWORD GETS_MAIL'],
  [{ user: NO_HASH, policy: { ...OFF, ...QUIET } }, 'INIT_MAIL/NO_PASSWORD GETS_MAIL'],
  [{ user: { ...NO_HASH, ...BY_LINK }, policy: OFF }, 'INIT_MAIL/PROVIDER_NOT_SET_UP GETS_MAIL'],
  [{ user: NO_HASH, policy: OFF, held: true }, 'NONE/MAILS_HELD'],
  [{ user: { ...NO_HASH, ...NO_ADDRESS } }, 'NONE/NO_ADDRESS'],
  [{ user: { ...NO_HASH, ...NO_ADDRESS, ...BY_LINK } }, 'NONE/NO_ADDRESS'],
  [{ user: BY_LINK, isLinked: true }, 'PASSWORD'],
  [{ user: { ...NO_HASH, ...BY_LINK }, isLinked: true }, 'PROVIDER GETS_MAIL'],
  [{ user: { ...NO_HASH, ...BY_LINK }, isLinked: true, policy: QUIET }, 'PROVIDER'],
  [{ user: { ...NO_HASH, ...BY_LINK }, isLinked: true, policy: { ...QUIET, ...OFF } }, 'PROVIDER'],
  [{ user: { ...NO_HASH, ...BY_LINK }, isLinked: true, policy: OFF, held: true }, 'PROVIDER'],
  [{ user: { ...NO_HASH, ...NO_ADDRESS, ...BY_LINK }, isLinked: true }, 'PROVIDER'],
  [{ user: { ...NO_HASH, ...BY_LINK }, isLinked: true, old: { ways: ['enterprise'] } }, 'PROVIDER GETS_MAIL'],
  [
    { user: { ...NO_HASH, ...BY_LINK }, isLinked: true, old: { ways: ['password', 'provider'] } },
    'PROVIDER/NO_PASSWORD GETS_MAIL',
  ],
  [{ user: BY_LINK, isLinked: true, old: { password: 'perhaps' } }, 'PROVIDER/UNKNOWN_PASSWORD'],
  [{ user: { ...NO_HASH, ...BY_LINK }, isLinked: true, atSource: true }, 'PASSWORD_SOURCE/PASSWORD_AT_SOURCE'],
  [{ state: 'USER_STATE_LOCKED', user: { ...NO_HASH, ...BY_LINK }, isLinked: true }, 'NONE/LOCKED'],
  [{ state: 'USER_STATE_INACTIVE' }, 'NONE/INACTIVE'],
  [{ state: 'USER_STATE_INACTIVE', user: { ...NO_HASH, ...UNVERIFIED }, old: { lost: ['passkey'] } }, 'NONE/INACTIVE'],
  [{ state: 'USER_STATE_LOCKED', user: BY_LINK }, 'NONE/LOCKED'],
  // Passkeys.
  [{ user: { ...NO_HASH, ...passkeyFor(HERE) }, rpId: HERE }, 'PASSKEY GETS_MAIL'],
  [{ user: WISH, rpId: HERE }, 'PASSWORD GETS_MAIL'],
  [{ user: WISH }, 'PASSWORD'],
  [{ user: WISH, rpId: HERE, policy: { passkeys: false } }, 'PASSWORD'],
  [{ user: WISH, rpId: HERE, policy: QUIET }, 'PASSWORD'],
  [{ user: WISH, rpId: HERE, held: true }, 'PASSWORD'],
  [{ user: WISH, rpId: HERE, old: { ways: ['enterprise'] }, leaves: true }, 'PASSWORD ENTERPRISE_LINK_UNUSED'],
  [{ user: { ...WISH, totps: [TOTP] }, rpId: HERE }, 'PASSWORD'],
  [{ user: WISH, rpId: HERE, old: { lost: ['secondFactor'] } }, 'PASSWORD SECOND_FACTOR_LOST'],
  [{ user: { ...WISH, ...NO_HASH }, rpId: HERE }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [{ user: WISH, rpId: HERE, state: 'USER_STATE_INACTIVE' }, 'NONE/INACTIVE'],
  [{ user: { ...NO_HASH, ...passkeyFor(HERE) }, rpId: HERE, policy: { ...OFF, ...QUIET } }, 'PASSKEY'],
  [
    { user: { ...NO_HASH, ...passkeyFor(HERE) }, rpId: HERE, policy: { ...OFF, ...QUIET, passkeys: false } },
    'INIT_MAIL/NO_PASSWORD GETS_MAIL',
  ],
  [{ user: { ...NO_HASH, ...NO_ADDRESS, ...passkeyFor(HERE) }, rpId: HERE }, 'PASSKEY'],
  [
    { user: { ...NO_HASH, ...passkeyFor(HERE) }, rpId: HERE, policy: { passkeys: false } },
    'MAIL_CODE/NO_PASSWORD GETS_MAIL',
  ],
  [
    { user: { ...NO_HASH, ...passkeyFor('old.example') }, rpId: HERE },
    'MAIL_CODE/NO_PASSWORD GETS_MAIL PASSKEYS_OTHER_HOST',
  ],
  [{ user: { ...NO_HASH, ...passkeyFor(HERE) } }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL PASSKEYS_OTHER_HOST'],
  [{ user: passkeyFor(HERE), rpId: HERE }, 'PASSWORD'],
  [{ user: passkeyFor(HERE), rpId: HERE, old: { password: 'perhaps' } }, 'PASSKEY/UNKNOWN_PASSWORD'],
  [{ user: { ...NO_HASH, ...BY_LINK, ...passkeyFor(HERE) }, rpId: HERE, isLinked: true }, 'PROVIDER GETS_MAIL'],
  [
    { user: passkeyFor('old.example'), rpId: HERE, old: { lost: ['passkey'] } },
    'PASSWORD PASSKEYS_LOST PASSKEYS_OTHER_HOST',
  ],
  // Second factors that came along.
  [{ user: { otpEmail: true }, old: { lost: ['secondFactor'] } }, 'PASSWORD'],
  [{ user: { totps: [TOTP] }, old: { lost: ['secondFactor', 'recoveryCodes'] } }, 'PASSWORD RECOVERY_CODES_LOST'],
  [
    { user: { recoveryCodes: ['ABCDE-FGHJK'] }, old: { lost: ['secondFactor', 'recoveryCodes'] } },
    'PASSWORD SECOND_FACTOR_LOST',
  ],
  [{ user: passkeyFor(HERE, true), rpId: HERE, old: { lost: ['secondFactor'] } }, 'PASSWORD'],
  [{ user: passkeyFor('old.example', true), rpId: HERE }, 'NONE/SECOND_FACTOR_UNUSABLE PASSKEYS_OTHER_HOST'],
  [
    { user: { ...passkeyFor('old.example', true), recoveryCodes: ['ABCDE-FGHJK'] }, rpId: HERE },
    'PASSWORD PASSKEYS_OTHER_HOST',
  ],
  [{ user: { otpEmail: true, ...UNVERIFIED } }, 'NONE/SECOND_FACTOR_UNUSABLE GETS_MAIL'],
  [{ user: { ...NO_HASH, otpEmail: true } }, 'INIT_MAIL/NO_PASSWORD GETS_MAIL'],
  [{ user: { otpSms: true, ...NUMBER } }, 'NONE/SECOND_FACTOR_UNUSABLE SMS_OFF'],
  [{ user: { otpSms: true, ...NUMBER }, hasGateway: true }, 'PASSWORD'],
  [{ user: { otpSms: true, totps: [TOTP], ...NUMBER } }, 'PASSWORD SMS_OFF'],
  // Numbers that sign in.
  [{ user: PHONE_ONLY, policy: TEXTS, hasGateway: true }, 'SMS_CODE/NO_PASSWORD'],
  [{ user: spelt('tel:+41-79-111-22-33'), policy: TEXTS, hasGateway: true }, 'SMS_CODE/NO_PASSWORD'],
  [{ user: spelt('+41 (0)79 111 22 33'), policy: TEXTS, hasGateway: true }, 'SMS_CODE/NO_PASSWORD'],
  [{ user: spelt('079 111 22 33'), policy: TEXTS, hasGateway: true }, 'NONE/NO_ADDRESS'],
  [{ user: spelt('+41 44 1'), policy: TEXTS, hasGateway: true }, 'NONE/NO_ADDRESS'],
  [{ user: PHONE_ONLY, policy: TEXTS }, 'NONE/NO_ADDRESS SMS_OFF'],
  [{ user: PHONE_ONLY, hasGateway: true }, 'NONE/NO_ADDRESS SMS_OFF'],
  [{ user: PHONE_ONLY, policy: TEXTS, hasGateway: true, judged: FACT.phoneHeldTwice }, 'NONE/NUMBER_HELD_TWICE'],
  [{ user: { ...PHONE_ONLY, phone: { phone: '+41791112233' } }, policy: TEXTS, hasGateway: true }, 'NONE/NO_ADDRESS'],
  [{ user: { ...NO_HASH, ...NUMBER }, policy: TEXTS, hasGateway: true }, 'MAIL_CODE/NO_PASSWORD GETS_MAIL'],
  [
    { user: { ...NO_HASH, ...NUMBER }, policy: { ...TEXTS, ...OFF }, hasGateway: true },
    'SMS_CODE/NO_PASSWORD GETS_MAIL',
  ],
  [{ user: { ...PHONE_ONLY, otpSms: true }, policy: TEXTS, hasGateway: true }, 'NONE/NO_ADDRESS'],
  [{ user: { ...UNVERIFIED, ...NUMBER }, policy: { ...TEXTS, ...ADDRESSES } }, 'PASSWORD TYPES_USER_NAME GETS_MAIL'],
];

const POLICY: LoginPolicy = {
  forceMfa: false,
  mailCode: 'withoutPassword',
  smsCode: 'off',
  initMail: 'always',
  linking: 'refuse',
  passkeys: true,
  deleteAccount: false,
};

function factsOf(given: Case): number | null {
  const { atSource, judged } = given;
  const item = itemOf(given);
  const facts = itemFacts(atSource ? { ...item, passwordHash: markOf('source') } : item);
  return judged === undefined ? facts : (facts ?? USUAL) | judged;
}

function itemOf({ user, state, old }: Case): PendingItem {
  const given = { ...entry('ann', user, { state }), ...(old === undefined ? {} : { oldSignIn: old }) };
  const rules = { ...USUAL_RULES, withoutEmail: true };
  const item = validateEntry(given, SECRETS, { unknown: (path) => assert.fail(path) }, rules);
  if (item.state !== 'pending') return assert.fail(JSON.stringify(item.error));
  return item;
}

for (const [n, [given, expected]] of TABLE.entries()) {
  test(`${n}: ${expected}, of ${JSON.stringify(given)}`, () => {
    const options = { holdsMails: given.held === true, leavesOutEnterprise: given.leaves === true };
    const policy = { ...POLICY, onlyAddresses: false, ...given.policy };
    const facts = factsOf(given);
    const passkeys = passkeysHere(linkNames(itemOf(given)), given.rpId);
    const same = { ...options, hasGateway: given.hasGateway === true };
    const isLinked = given.isLinked === true;
    const { way, cause, changes } = predictSignIn(facts ?? USUAL, { policy, ...same, passkeys, isLinked });
    assert.equal([cause === undefined ? way : `${way}/${cause}`, ...changes].join(' '), expected);
    const flags = [
      [isLinked, LINKED],
      [passkeys.hasPasskey, PASSKEY_HERE],
      [passkeys.hasSecurityKey, KEY_HERE],
    ] as const;
    const bits = flags.reduce((sum, [is, flag]) => sum + (is ? flag : 0), (facts ?? USUAL) & WAY_MASK);
    assert.equal(wayOfBits(bits, [policy], same), way, 'a search finds it by this way');
    const other = { ...policy, mailCode: 'all', passkeys: true } as const;
    assert.equal(wayOfBits(bits + ORG_KIND, [other, policy], same), way, 'in an organization of another kind too');
  });
}

test('a usual user has no facts to store', () => {
  assert.equal(factsOf({}), null);
  assert.equal(factsOf({ user: { userName: 'ann' } }), null);
});

test('an entry that is made from the stored facts has the same facts', () => {
  const without = FACT.link | FACT.onlyEnterprise;
  for (const [given] of TABLE) {
    const facts = factsOf(given);
    const old = oldSignInOf(facts, given.user?.idps !== undefined);
    const rest = { ...given, ...(old === undefined ? { old: {} } : { old }) };
    if (given.old?.password === 'unknown') rest.user = { ...given.user, ...NO_HASH };
    const again = factsOf(rest);
    const isLinkLost = given.old?.ways?.includes('password') === true;
    const mask = isLinkLost ? ~without : ~0;
    assert.equal((again ?? USUAL) & mask, (facts ?? USUAL) & mask, JSON.stringify(given));
  }
});

test('a hash of a password that nobody knows is not taken', () => {
  const given = { ...entry('ann'), oldSignIn: { password: 'unknown' } };
  const item = validateEntry(given, SECRETS, { unknown: (path) => assert.fail(path) }, USUAL_RULES);
  assert.equal(item.state === 'pending' && item.passwordHash, null);
});

test('the guide lists every way, cause and change, with its sentence', () => {
  const guide = readFileSync(new URL('../../../docs/imports.md', import.meta.url), 'utf8');
  const [, rest = ''] = guide.split('## How users sign in: the prediction\n');
  const [section = ''] = rest.split('\n## ');
  const rows = [...section.matchAll(/^\| `([A-Z_]+)` \| (.*) \|$/gm)].map(([, id, text]) => [id, text]);
  assert.deepEqual(
    rows.slice(0, WAYS.length).map(([id]) => id),
    [...WAYS],
  );
  assert.deepEqual(rows.slice(WAYS.length), [...Object.entries(CAUSES), ...Object.entries(CHANGES)]);
});

/**
 * Whether an entry of a directory, such as one in LDIF, may sign in; and the values of its attributes, whose names are in
 * lower case.
 */
import type { Note } from './entry.ts';
import type { Fields } from './source.ts';
import {
  COMMON_WORDS,
  commonRules,
  fromFileTime,
  joinRules,
  readState,
  type StateRead,
  type StateRules,
  type StateWords,
  stateMeaning,
} from './states.ts';
import { numberAt, textAt } from './values.ts';

/**
 * Whether an account is disabled, locked or expired, by the attributes of OpenLDAP (slapo-ppolicy), 389 Directory
 * Server and FreeIPA, Active Directory, PingDS and OpenDJ, eDirectory, and shadow(5). An expired account is imported as
 * inactive: a user who cannot sign in there must not be able to sign in here.
 * @param now milliseconds since 1970
 */
export function directoryState(entry: Fields, now: number): StateRead {
  const control = firstOf(entry, 'useraccountcontrol');
  const bits = integerOf(entry, 'useraccountcontrol') ?? 0;
  const values = STATE_ATTRIBUTES.map((name) => [name, firstOf(entry, name)] as const);
  const present = Object.fromEntries(values.filter(([, value]) => value !== undefined));
  const others = otherStates(entry);
  const unlocks = momentsOf(firstOf(entry, 'accountunlocktime') ?? '')[0];
  const isUnread = control !== undefined && !/^-?\d+$/.test(control.trim());
  const isOff =
    (bits & UAC_DISABLED) !== 0 ||
    endOf(entry).some((end) => end <= now) ||
    /^\[[^\]]*D/.test(firstOf(entry, 'sambaacctflags') ?? '') ||
    valuesOf(entry, 'nsroledn').some((dn) => /disabled/i.test(dn));
  const isLocked =
    firstOf(entry, 'pwdaccountlockedtime') !== undefined ||
    (bits & UAC_LOCKED) !== 0 ||
    /^\[[^\]]*L/.test(firstOf(entry, 'sambaacctflags') ?? '');
  const read = readState(
    {
      ...others,
      ...present,
      ...(unlocks === undefined ? {} : { accountunlocktime: unlocks }),
      ...(isUnread ? { useraccountcontrol: control } : {}),
      'bit ACCOUNTDISABLE, or an end': isOff,
      'bit LOCKOUT': isLocked,
    },
    rulesWith(Object.keys(others)),
  );
  if (NO_SHELL.test(firstOf(entry, 'loginshell') ?? '')) read.notes.push(SHELL_CLOSED);
  return read;
}

const DISABLED = [
  'nsaccountlock',
  'ds-pwp-account-disabled',
  'logindisabled',
  'msds-useraccountdisabled',
  'vinteladisabled',
];
const LOCKED = ['lockedbyintruder', 'ibm-pwdaccountlocked'];
/** Of Sun and 389 Directory Server, Zimbra, qmail-ldap and Oracle; other words keep their users out. */
const WORDS: readonly StateWords[] = [
  { field: 'inetuserstatus', active: 'active', inactive: 'inactive deleted' },
  { field: 'zimbraaccountstatus', active: 'active', inactive: 'closed pending maintenance', locked: 'locked lockout' },
  { field: 'accountstatus', ...COMMON_WORDS },
  { field: 'orclisenabled', active: 'enabled', inactive: 'disabled' },
  {
    field: 'orclaccountstatusevent',
    active: 'UserAccountEvent.ACCOUNT_UNLOCKED',
    locked: 'UserAccountEvent.ACCOUNT_LOCKED',
  },
];
const STATES: StateRules = {
  inactive: [...DISABLED, 'useraccountcontrol', 'bit ACCOUNTDISABLE, or an end'],
  locked: [...LOCKED, 'bit LOCKOUT'],
  lockedUntil: ['accountunlocktime'],
  marks: ['employeetype'],
  words: WORDS,
};
const STATE_ATTRIBUTES = [...DISABLED, ...LOCKED, 'employeetype', ...WORDS.map(({ field }) => field)];
// https://learn.microsoft.com/windows/win32/adschema/a-useraccountcontrol
const UAC_DISABLED = 0x2;
const UAC_LOCKED = 0x10;

const NO_SHELL = /\/(?:nologin|false)$/;
const SHELL_CLOSED: Note = {
  id: 'LOGIN-SHELL-CLOSED',
  message:
    'The login shell, such as nologin, lets the user into no computer. They are imported as active; deactivate whoever may sign in nowhere.',
};

/** Attributes of a schema of one's own whose names say a state. */
function otherStates(entry: Fields): Fields {
  const named = Object.keys(entry).filter((name) => {
    const meaning = OWN_ATTRIBUTES.has(name) ? undefined : stateMeaning(name);
    return meaning !== undefined && !meaning.startsWith('perhaps');
  });
  const values = named.map((name) => [name, firstOf(entry, name)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

const OWN_ATTRIBUTES = new Set([
  ...STATE_ATTRIBUTES,
  'isdeleted',
  'accountunlocktime',
  'useraccountcontrol',
  'st',
  'c',
]);

/** Whether `directoryState` reads an attribute, or it is something else that every directory has. */
export function isStateAttribute(name: string): boolean {
  return OWN_ATTRIBUTES.has(name);
}

function rulesWith(others: readonly string[]): StateRules {
  if (others.length === 0) return STATES;
  const inWords = others.filter((name) => stateMeaning(name) === 'status');
  return joinRules(STATES, { ...commonRules(others), words: inWords.map((field) => ({ field, ...COMMON_WORDS })) });
}

const DAY_MS = 86_400_000;

/** When the account expires: shadow(5) counts days, Active Directory uses FILETIME, FreeIPA and others write a time. */
function endOf(entry: Fields): number[] {
  const days = integerOf(entry, 'shadowexpire') ?? -1;
  const filetime = Number(firstOf(entry, 'accountexpires') ?? 0);
  const written = firstOf(entry, 'krbprincipalexpiration', 'ds-pwp-account-expiration-time', 'loginexpirationtime');
  const kickoff = integerOf(entry, 'sambakickofftime') ?? 0;
  const passwordEnd = firstOf(entry, 'pwdendtime');
  return [
    // shadow(5) warns that zero may be read as the first day.
    ...(days >= 0 ? [days * DAY_MS] : []),
    ...(kickoff > 0 ? [kickoff * 1000] : []),
    ...(passwordEnd === undefined ? [] : momentsOf(passwordEnd)),
    // Zero means never; so does the largest number, which is a date in the far future.
    ...(filetime > 0 ? [fromFileTime(filetime)] : []),
    ...(written === undefined ? [] : momentsOf(written)),
  ];
}

/** GeneralizedTime of RFC 4517 section 3.3.13, as servers write it: `20260301000000Z`. */
function momentsOf(text: string): number[] {
  const [, year, month, day, hour, minute, second = '0'] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(?:[.,]\d+)?Z$/.exec(text) ?? [];
  if (year === undefined) return [];
  return [Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))];
}

/** All values of an attribute, unchanged. */
export function valuesOf(entry: Fields, attribute: string): string[] {
  const values = Object.hasOwn(entry, attribute) ? entry[attribute] : undefined;
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
}

/** The first value of the first of these attributes that has one. */
export function firstOf(entry: Fields, ...attributes: string[]): string | undefined {
  for (const attribute of attributes) {
    for (const value of valuesOf(entry, attribute)) {
      const text = textAt({ value }, 'value');
      if (text !== undefined) return text;
    }
  }
  return undefined;
}

export function integerOf(entry: Fields, attribute: string): number | undefined {
  return numberAt({ value: firstOf(entry, attribute) }, 'value');
}

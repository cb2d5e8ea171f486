/** Options and arguments that several commands share, and the forms of their values. */
import { PASSWORD_FORMS } from '../passwords/forms.ts';
import { isRpId } from '../sources/rp-id.ts';
import { wrongUsage } from './terminal/failure.ts';

/** An argument that must be given. */
export function argument(describe: string) {
  return { type: 'string', demandOption: true, describe } as const;
}

/** An option with a value. */
export function text(describe: string) {
  return { type: 'string', requiresArg: true, describe } as const;
}

/** An option without a value, false unless given. */
export function flag(describe: string) {
  return { type: 'boolean', default: false, describe } as const;
}

/** How many entries a list has. @param usual without the option */
export function limit(usual: number) {
  return { type: 'number', requiresArg: true, default: usual, describe: 'how many to list' } as const;
}

/** The check of `limit`, as yargs takes it. */
export function isLimit({ limit }: { limit: number }): true | string {
  return (Number.isInteger(limit) && limit > 0) || '--limit must be a whole number of at least 1.';
}

export const IMPORT = { ...argument('number of the import'), coerce: importNumber } as const;

export const ORG = argument('id, exact name or domain');

export const YES = { ...flag('do not ask for confirmation'), alias: 'y' } as const;

export const WATCH = { ...flag('watch until the import ends'), alias: 'w' } as const;

/** Of `import`, `convert` and `pull`. */
/** Whether users who came only by a connection of their company may sign in with a code by mail. */
export const ENTERPRISE_MAIL_CODES = {
  type: 'boolean',
  default: true,
  describe:
    'users who came only by a connection of their company may sign in with a code by mail; --no-enterprise-mail-codes ' +
    'leaves them out',
} as const;

/** What counts for passwords that an old system perhaps made up (`ConvertOptions.unknownPasswords`). */
export const UNKNOWN_PASSWORDS = {
  choices: ['keep', 'drop'],
  describe:
    'passwords that the old system perhaps made up: keep counts them as known, drop drops them (default: the users have them and a code by mail)',
} as const;

/** The host of passkeys whose export does not name it (`ConvertOptions.passkeyRpId`). */
export const PASSKEY_RP_ID = {
  type: 'string',
  coerce: rpIdOf,
  describe: 'host that passkeys were made for (RP id), such as auth.example.com, where the export does not name it',
} as const;

/** @throws Failure (usage) */
function rpIdOf(given: string | undefined): string | undefined {
  if (given === undefined || isRpId(given.toLowerCase())) return given?.toLowerCase();
  throw wrongUsage(`--passkey-rp-id must be a host name such as auth.example.com; it is "${given}".`);
}

export const PASSWORD_FORM = {
  type: 'string',
  array: true,
  nargs: 1,
  choices: PASSWORD_FORMS,
  describe: 'what the system did to a password before it hashed it (default: as the source says)',
} as const;

/** Item states as people type them; the names that the service and its reports use are accepted too. */
export const STATE = {
  ...text('only users in this state'),
  choices: ['pending', 'succeeded', 'skipped', 'failed', 'timed-out', 'cancelled', 'undone'],
  coerce: (text: string | undefined) =>
    text
      ?.replace(/^ITEM_STATE_/i, '')
      .toLowerCase()
      .replaceAll('_', '-'),
} as const;

/** @throws Error when it is not an import's number; yargs reports it as wrong usage */
export function importNumber(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new Error(`"${text}" is not the number of an import, such as 17; \`muster status\` lists them.`);
}

/** `ITEM_STATE_TIMED_OUT` for `timed-out`. */
export function itemState(state: string | undefined): string | undefined {
  return state && `ITEM_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

/** `30m`, `24h`, `7d`, `2w` before `now`; `2026-01-31` (the start of that day, UTC) or a full timestamp. @throws Failure */
export function pastDate(text: string, now: number = Date.now()): string {
  const [, amount, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const isTime = amount || /^\d{4}-\d\d-\d\d(T|$)/.test(text);
  const time = amount ? now - Number(amount) * (UNIT_MS[unit] ?? 0) : Date.parse(text);
  if (isTime && Math.abs(time) < 8e15) return new Date(time).toISOString();
  throw wrongUsage(
    `"${text}" is not a date or time.`,
    'Use a form such as 30m, 24h, 7d, 2w, 2026-01-31 or 2026-01-31T12:00:00Z.',
  );
}

/** `90d`, `12h`, `2w` after `now`; `2027-01-31` (the end of that day, UTC) or a full timestamp. @throws Failure */
export function expiryDate(text: string, now: number = Date.now()): string {
  const [, amount, unit = ''] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59Z` : text;
  const time = amount ? now + Number(amount) * (UNIT_MS[unit] ?? 0) : Date.parse(day);
  const isTime = amount || /^\d{4}-\d\d-\d\dT/.test(day);
  if (isTime && time > now) return new Date(time).toISOString();
  throw wrongUsage(
    `"${text}" is not a future date or time.`,
    'Use a form such as 90d, 12h, 2w, 2027-01-31 or 2027-01-31T12:00:00Z.',
  );
}

/**
 * Converts rows of Okta's CSV files to users as in its API. Columns are those of its import template
 * (`login,firstName,…`), paths (`profile.login`), or headings of its reports (`First name`, `Okta user status`).
 *
 * Guarantee: a user from JSON stays unchanged.
 * https://help.okta.com/en-us/content/topics/users-groups-profiles/usgp-import-users-csv.htm
 */
import type { Fields } from '../../source.ts';

/** By heading in lower case, without spaces; all other columns are attributes of the profile. */
const HEADINGS: Readonly<Record<string, string>> = {
  login: 'login',
  oktausername: 'login',
  email: 'email',
  primaryemail: 'email',
  secondaryemail: 'secondEmail',
  secondemail: 'secondEmail',
  firstname: 'firstName',
  lastname: 'lastName',
  displayname: 'displayName',
  userfullname: 'displayName',
  nickname: 'nickName',
  mobilephone: 'mobilePhone',
  primaryphone: 'primaryPhone',
  preferredlanguage: 'preferredLanguage',
  locale: 'locale',
};
const IDS = ['id', 'userid', 'oktauserid'];
const STATUS = ['status', 'userstatus', 'oktauserstatus'];

/** Okta's console has other words for these states. */
const STATUS_WORDS: Readonly<Record<string, string>> = {
  PENDING_USER_ACTION: 'PROVISIONED',
  PASSWORD_RESET: 'RECOVERY',
  DEACTIVATED: 'DEPROVISIONED',
};

/** Times that matter only to Okta. */
const DROPPED = ['created', 'activated', 'statuschanged', 'lastlogin', 'lastupdated', 'passwordchanged'];

/** Whether a row has columns that only Okta's files have. */
export function isRow(record: Fields): boolean {
  const has = (...columns: string[]) => columns.every((column) => Object.hasOwn(record, column));
  return has('profile.login') || has('login', 'secondEmail') || has('login', 'honorificPrefix') || has('Okta username');
}

export function asUser(record: Fields): Fields {
  if (!Object.values(record).every((value) => typeof value === 'string')) return record;
  const user: Fields = {};
  const profile: [string, unknown][] = [];
  for (const [column, value] of Object.entries(record)) {
    const name = column.replace(/^profile\./, '');
    const heading = name.toLowerCase().replace(/[^a-z]/g, '');
    if (IDS.includes(heading)) user.id = value;
    else if (STATUS.includes(heading)) user.status = statusOf(value as string);
    else if (!DROPPED.includes(heading) && value !== '') {
      profile.push([Object.hasOwn(HEADINGS, heading) ? (HEADINGS[heading] as string) : name, value]);
    }
  }
  return { ...user, profile: Object.fromEntries(profile) };
}

function statusOf(text: string): string {
  const word = text
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, '_');
  return Object.hasOwn(STATUS_WORDS, word) ? (STATUS_WORDS[word] as string) : word;
}

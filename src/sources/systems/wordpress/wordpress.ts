/**
 * WordPress: the output of WP-CLI's `wp user list`, and rows of `wp_users`, with or without their `wp_usermeta`.
 * https://developer.wordpress.org/cli/commands/user/list/
 * https://developer.wordpress.org/reference/functions/wp_hash_password/
 *
 * WordPress does not store whether an address is verified, so that stays undefined.
 */
import { type HashText, SECOND_FACTOR_LOST, unsupported } from '../../hash-text.ts';
import type { Note, Person, Skipped } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, numberAt, textAt } from '../../values.ts';
import { keptMeta, metaOf, rolesOf } from './meta.ts';

const TAKEN = ['first_name', 'last_name', 'nickname', 'locale', 'description', 'billing_phone'];
/** BuddyPress' states for spammers and accounts that are not activated; WordPress itself does not use the column. */
const BUDDYPRESS_BLOCKED = [1, 2];

export const wordpress: Source = {
  name: 'wordpress',
  title: 'WordPress',
  formats: ['json', 'ndjson', 'csv'],
  recognizes,
  converter: () => convert,
};

function recognizes(record: Fields): number {
  if (!Object.hasOwn(record, 'user_login')) return 0;
  return ['user_email', 'user_pass', 'user_nicename', 'ID'].some((name) => Object.hasOwn(record, name)) ? 1 : 0.5;
}

function convert(record: Fields): Person | Skipped {
  if (boolAt(record, 'deleted') === true) return { skip: 'The user is deleted (deleted = 1).' };
  const meta = metaOf(record);
  const { hash, notes = [] } = hashOf(record);
  const factor = factorOf(meta);
  return {
    userId: textAt(record, 'ID'),
    userName: textAt(record, 'user_login'),
    email: textAt(record, 'user_email'),
    firstName: textAt(meta, 'first_name'),
    lastName: textAt(meta, 'last_name'),
    displayName: textAt(record, 'display_name'),
    nickName: textAt(meta, 'nickname'),
    language: textAt(meta, 'locale'),
    phone: textAt(meta, 'billing_phone'),
    state: isBlocked(record) ? 'inactive' : undefined,
    hash,
    totp: factor.totp,
    metadata: {
      ...keptMeta(record, TAKEN),
      roles: listedRoles(record),
      ...rolesOf(record),
      description: textAt(meta, 'description'),
      user_url: textAt(record, 'user_url'),
    },
    notes: [...notes, ...factor.notes],
  };
}

function isBlocked(record: Fields): boolean {
  return boolAt(record, 'spam') === true || BUDDYPRESS_BLOCKED.includes(numberAt(record, 'user_status') ?? 0);
}

/** `$generic$` hashes are of keys and application passwords, not of a password that a user types. */
function hashOf(record: Fields): HashText {
  const text = textAt(record, 'user_pass');
  if (text === undefined) return {};
  return text.startsWith('$generic$') ? unsupported('generic') : { hash: text };
}

/** WP-CLI separates roles by commas. */
function listedRoles(record: Fields): string[] | undefined {
  const { roles } = record;
  const names = Array.isArray(roles) ? roles.map(String) : (textAt(record, 'roles') ?? '').split(',');
  const filled = names.map((name) => name.trim()).filter((name) => name !== '');
  return filled.length > 0 ? filled : undefined;
}

/** Reads the plugin Two Factor, which stores secrets in plain text; other plugins encrypt theirs. */
function factorOf(meta: Fields): Pick<Person, 'totp'> & { notes: Note[] } {
  const enabled = textAt(meta, '_two_factor_enabled_providers') ?? '';
  const totp = enabled.includes('Two_Factor_Totp') ? textAt(meta, '_two_factor_totp_key') : undefined;
  const isLost = totp === undefined && (enabled.includes('Two_Factor_') || textAt(meta, 'wp_2fa_enabled_methods'));
  return { totp, notes: isLost ? [SECOND_FACTOR_LOST] : [] };
}

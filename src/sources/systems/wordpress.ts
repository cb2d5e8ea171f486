import type { Note, Person, Skipped } from '../entry.ts';
import { type HashText, SECOND_FACTOR_LOST, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, isSecretName, numberAt, objectsAt, textAt } from '../values.ts';
/**
 * What WordPress and its plugins store about a user in `wp_usermeta`: keys and values, some in PHP's serialize() form.
 *
 * Data that people entered is kept; screen settings, sessions, and values whose keys suggest a secret are not.
 * https://developer.wordpress.org/reference/functions/get_user_meta/
 */

/** Values by key, from the list of a joined export and from the record's own fields, which take precedence. */
export function metaOf(record: Fields): Fields {
  const listed = objectsAt(record, 'meta').map((entry) => [textAt(entry, 'meta_key') ?? '', entry.meta_value]);
  return { ...Object.fromEntries(listed), ...record };
}

/** Settings of a user and their screens; keys of sites may have any prefix (`wp_`, `wp_2_`). */
const SETTINGS = [
  /^_/,
  /(?:capabilities|user_level|user-settings|user-settings-time|dashboard_quick_press_last_post_id|user-avatars?)$/,
  /^(?:closedpostboxes|metaboxhidden|meta-box-order|screen_layout|managenav|manageedit|edit)[_-]/,
  /^(?:rich_editing|syntax_highlighting|comment_shortcuts|admin_color|use_ssl|show_admin_bar_front|show_welcome_panel)$/,
  /^(?:dismissed_wp_pointers|default_password_nag|community-events-location|last_update|wc_last_active|primary_blog|source_domain)$/,
];

/** @param taken keys that already became fields */
export function keptMeta(record: Fields, taken: readonly string[]): Record<string, unknown> {
  const keys = objectsAt(record, 'meta').map((entry) => [textAt(entry, 'meta_key') ?? '', textAt(entry, 'meta_value')]);
  return Object.fromEntries(
    keys.filter(
      ([key = '']) =>
        key !== '' && !taken.includes(key) && !isSecretName(key) && !SETTINGS.some((pattern) => pattern.test(key)),
    ),
  );
}

/** Roles by the key of their site: `{"wp_capabilities": ["editor"]}`. */
export function rolesOf(record: Fields): Record<string, string[]> {
  const sites = objectsAt(record, 'meta').map((entry): [string, string[]] => [
    textAt(entry, 'meta_key') ?? '',
    namesSetIn(textAt(entry, 'meta_value') ?? ''),
  ]);
  return Object.fromEntries(sites.filter(([key, roles]) => key.endsWith('capabilities') && roles.length > 0));
}

/** The keys of a serialized PHP array whose values are true. */
function namesSetIn(serialized: string): string[] {
  return [...serialized.matchAll(/s:\d+:"([^"]+)";b:1;/g)].map(([, name = '']) => name);
}

/**
 * WordPress: the output of WP-CLI's `wp user list`, and rows of `wp_users`, with or without their `wp_usermeta`.
 * https://developer.wordpress.org/cli/commands/user/list/
 * https://developer.wordpress.org/reference/functions/wp_hash_password/
 *
 * WordPress does not store whether an address is verified, so that stays undefined.
 */

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

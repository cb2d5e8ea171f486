/**
 * WordPress: the output of WP-CLI's `wp user list`, and rows of `wp_users`, with or without their `wp_usermeta`: keys and
 * values, some in PHP's serialize() form. No column says whether an address is verified.
 * https://developer.wordpress.org/cli/commands/user/list/
 * https://developer.wordpress.org/reference/functions/wp_hash_password/
 * https://developer.wordpress.org/reference/functions/get_user_meta/
 */
import type { Person } from '../entry.ts';
import { type HashText, SECOND_FACTOR_LOST, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { isSecretName, objectsAt, textAt } from '../values.ts';
import { tableSource } from './table.ts';

export const wordpress = tableSource({
  name: 'wordpress',
  title: 'WordPress',
  recognizes,
  row: metaOf,
  stateRow: metaOf,
  states: {
    // Plugins: Disable Users (ja_disable_user), Lock User Account (baba_user_locked).
    inactive: ['spam', 'ja_disable_user', '_is_disabled', 'baba_user_locked'],
    deleted: ['deleted'],
    // BuddyPress' states for spammers and accounts that are not activated; WordPress itself does not use the column.
    words: [
      { field: 'user_status', active: '0', inactive: '1 2' },
      // Ultimate Member.
      {
        field: 'account_status',
        active: 'approved',
        inactive: 'inactive rejected awaiting_admin_review awaiting_email_confirmation',
      },
      // New User Approve.
      { field: 'pw_user_status', active: 'approved', inactive: 'pending denied' },
    ],
  },
  columns: {
    userId: 'ID',
    userName: 'user_login',
    email: 'user_email',
    firstName: 'first_name',
    lastName: 'last_name',
    displayName: 'display_name',
    nickName: 'nickname',
    language: 'locale',
    phone: 'billing_phone',
  },
  parts: [hashOf, factorOf],
  metadata: (row, _rest, { record }) => ({
    ...keptMeta(record),
    roles: listedRoles(record),
    ...rolesOf(record),
    description: textAt(row, 'description'),
    user_url: textAt(row, 'user_url'),
  }),
});

function recognizes(record: Fields): number {
  if (!Object.hasOwn(record, 'user_login')) return 0;
  return ['user_email', 'user_pass', 'user_nicename', 'ID'].some((name) => Object.hasOwn(record, name)) ? 1 : 0.5;
}

/** Values by key, from the list of a joined export and from the record's own fields, which take precedence. */
function metaOf(record: Fields): Fields {
  const listed = objectsAt(record, 'meta').map((entry) => [textAt(entry, 'meta_key') ?? '', entry.meta_value]);
  return { ...Object.fromEntries(listed), ...record };
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
function factorOf(meta: Fields): Partial<Person> {
  const enabled = textAt(meta, '_two_factor_enabled_providers') ?? '';
  const totp = enabled.includes('Two_Factor_Totp') ? textAt(meta, '_two_factor_totp_key') : undefined;
  const isLost = totp === undefined && (enabled.includes('Two_Factor_') || textAt(meta, 'wp_2fa_enabled_methods'));
  return { totp, notes: isLost ? [SECOND_FACTOR_LOST] : [] };
}

const TAKEN = ['first_name', 'last_name', 'nickname', 'locale', 'description', 'billing_phone'];
/** Settings of a user and their screens; keys of sites may have any prefix (`wp_`, `wp_2_`). */
const SETTINGS = [
  /^_/,
  /(?:capabilities|user_level|user-settings|user-settings-time|dashboard_quick_press_last_post_id|user-avatars?)$/,
  /^(?:closedpostboxes|metaboxhidden|meta-box-order|screen_layout|managenav|manageedit|edit)[_-]/,
  /^(?:rich_editing|syntax_highlighting|comment_shortcuts|admin_color|use_ssl|show_admin_bar_front|show_welcome_panel)$/,
  /^(?:dismissed_wp_pointers|default_password_nag|community-events-location|last_update|wc_last_active|primary_blog|source_domain)$/,
];

/** Data that people entered; not screen settings, sessions, and values whose keys suggest a secret. */
function keptMeta(record: Fields): Record<string, unknown> {
  const keys = objectsAt(record, 'meta').map((entry) => [textAt(entry, 'meta_key') ?? '', textAt(entry, 'meta_value')]);
  return Object.fromEntries(
    keys.filter(
      ([key = '']) =>
        key !== '' && !TAKEN.includes(key) && !isSecretName(key) && !SETTINGS.some((pattern) => pattern.test(key)),
    ),
  );
}

/** Roles by the key of their site: `{"wp_capabilities": ["editor"]}`. */
function rolesOf(record: Fields): Record<string, string[]> {
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

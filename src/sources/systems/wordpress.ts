/**
 * WordPress: the output of WP-CLI's `wp user list`, and rows of `wp_users`, with or without their `wp_usermeta`: keys and
 * values, some in PHP's serialize() form. No column says whether an address is verified.
 * https://developer.wordpress.org/cli/commands/user/list/
 * https://developer.wordpress.org/reference/functions/wp_hash_password/
 * https://developer.wordpress.org/reference/functions/get_user_meta/
 */
import type { Person } from '../entry.ts';
import { openFactors } from '../factors.ts';
import { type HashText, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { isSecretName, listAt, objectsAt, parseJson, textAt } from '../values.ts';
import { tableSource } from './table.ts';

export const wordpress = tableSource({
  name: 'wordpress',
  title: 'WordPress',
  recognizes,
  missing: [
    {
      id: 'WORDPRESS-META',
      what: 'secondFactor',
      message: 'These files have no rows of wp_usermeta, where plugins keep second factors and recovery codes.',
      remedy: 'Export the users with the query of docs/sources/wordpress.md, which joins them as meta.',
      isIn: hasField('meta'),
    },
    {
      id: 'WORDPRESS-LINKS',
      what: 'links',
      message: 'These files have no accounts at providers, which plugins keep in a table of their own.',
      remedy: 'For Nextend Social Login join wp_social_users as social_users (docs/sources/wordpress.md).',
      isIn: hasField('social_users'),
    },
  ],
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
  parts: [hashOf, factorOf, accountsOf],
  // Plugins for signing in with a provider make up a password for a new user.
  signIn: (_row, { hash, links = [] }) =>
    oldSignInOf(
      { password: hash !== undefined, links },
      hash !== undefined && links.length > 0 ? 'perhaps' : undefined,
    ),
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

/**
 * Reads the plugin Two Factor, which stores secrets of apps in plain text and recovery codes as hashes of
 * `wp_hash_password`; other plugins encrypt theirs. Codes by mail go to the address of the user, verified or not.
 * https://github.com/WordPress/two-factor (providers/)
 */
function factorOf(meta: Fields): Partial<Person> {
  const factors = openFactors();
  const enabled = namesIn(textAt(meta, '_two_factor_enabled_providers') ?? '');
  for (const provider of enabled) {
    if (provider === 'Two_Factor_Totp') factors.app({ secret: textAt(meta, '_two_factor_totp_key') });
    else if (provider === 'Two_Factor_Email') factors.mail();
    else if (provider !== 'Two_Factor_Backup_Codes') factors.lost('secondFactor');
  }
  const other = textAt(meta, 'wp_2fa_enabled_methods');
  if (other === 'email') factors.mail();
  else if (other !== undefined) factors.lost('secondFactor');
  const hashes = namesIn(textAt(meta, '_two_factor_backup_codes') ?? '');
  factors.recoveryCodes(hashes.map((hash) => ({ hash, scheme: 'mcf' })));
  return factors.fields({ email: textAt(meta, 'user_email') });
}

/** The texts of a serialized PHP array, as values; or of JSON. */
function namesIn(text: string): string[] {
  const list = text.startsWith('[') ? parseJson(text) : undefined;
  if (Array.isArray(list)) return list.filter((one) => typeof one === 'string');
  return [...text.matchAll(/s:\d+:"([^"]*)";/g)].map(([, one = '']) => one);
}

/** Accounts of the plugin Nextend Social Login. */
function accountsOf(row: Fields): Partial<Person> {
  const links = listAt(row, 'social_users').flatMap((account) => {
    const [provider, externalUserId] = [textAt(account, 'type'), textAt(account, 'identifier')];
    return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
  });
  return links.length > 0 ? { links } : {};
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

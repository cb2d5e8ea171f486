/**
 * What WordPress and its plugins store about a user in `wp_usermeta`: keys and values, some in PHP's serialize() form.
 *
 * Data that people entered is kept; screen settings, sessions, and values whose keys suggest a secret are not.
 * https://developer.wordpress.org/reference/functions/get_user_meta/
 */
import type { Fields } from '../../source.ts';
import { objectsAt, textAt } from '../../values.ts';
import { isSecretName } from '../users-table.ts';

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

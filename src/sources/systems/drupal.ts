import type { Person, Skipped } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, firstText, textAt } from '../values.ts';
import { filledCells, otherColumns } from './users-table.ts';

/**
 * Drupal: rows of the table `users_field_data` (Drupal 8 and newer) or `users` (Drupal 7), as JSON or CSV.
 * https://www.drupal.org/docs/7/api/schema-api; https://api.drupal.org/api/drupal/core!modules!user!src!Entity!User.php
 */

const KNOWN: ReadonlySet<string> = new Set([
  ...['uid', 'uuid', 'name', 'pass', 'mail', 'init', 'status', 'langcode', 'preferred_langcode', 'language', 'access'],
  ...['preferred_admin_langcode', 'created', 'changed', 'login', 'default_langcode', 'theme', 'signature', 'picture'],
  ...['signature_format', 'data'],
]);

export const drupal: Source = {
  name: 'drupal',
  title: 'Drupal',
  formats: ['json', 'ndjson', 'csv'],
  recognizes: (record) => (['uid', 'pass', 'mail', 'init'].every((name) => Object.hasOwn(record, name)) ? 1 : 0),
  converter: () => convert,
};

function convert(record: Fields): Person | Skipped {
  const row = filledCells(record);
  if (textAt(row, 'uid') === '0') return { skip: 'The anonymous user (uid 0).' };
  return {
    userId: textAt(row, 'uid'),
    userName: textAt(row, 'name'),
    email: textAt(row, 'mail'),
    // By default, Drupal activates nobody before the address is verified; but sites may change that.
    emailVerified: undefined,
    language: firstText(row, ['preferred_langcode', 'language', 'langcode']),
    state: boolAt(row, 'status') === false ? 'inactive' : undefined,
    ...hashOf(textAt(row, 'pass')),
    metadata: otherColumns(row, KNOWN),
  };
}

/** `U$S$…` is Drupal 6's MD5, hashed again by Drupal 7's update. */
function hashOf(pass: string | undefined): HashText {
  return pass?.startsWith('U$') ? unsupported('drupal6-updated') : pass === undefined ? {} : { hash: pass };
}

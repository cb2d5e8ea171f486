/**
 * Drupal: rows of the table `users_field_data` (Drupal 8 and newer) or `users` (Drupal 7), as JSON or CSV. No column
 * says whether an address is verified: by default, Drupal activates nobody before that, but sites may change it.
 * https://www.drupal.org/docs/7/api/schema-api; https://api.drupal.org/api/drupal/core!modules!user!src!Entity!User.php
 */
import { textAt } from '../values.ts';
import { tableSource } from './table.ts';

export const drupal = tableSource({
  name: 'drupal',
  title: 'Drupal',
  isDatabase: true,
  recognizes: ['uid', 'pass', 'mail', 'init'],
  skip: (row) => (textAt(row, 'uid') === '0' ? 'The anonymous user (uid 0).' : undefined),
  states: { active: ['status'] },
  columns: {
    userId: 'uid',
    userName: 'name',
    email: 'mail',
    language: ['preferred_langcode', 'language', 'langcode'],
    // `U$S$…` is Drupal 6's MD5, hashed again by Drupal 7's update; `knownForm` reads it.
    hash: 'pass',
    passwordForms: () => ['trim'],
  },
  dropped: `uuid init status access preferred_admin_langcode created changed login default_langcode theme signature
    picture signature_format data`,
});

/**
 * Drupal: rows of the table `users_field_data` (Drupal 8 and newer) or `users` (Drupal 7), as JSON or CSV. No column
 * says whether an address is verified: by default, Drupal activates nobody before that, but sites may change it.
 * https://www.drupal.org/docs/7/api/schema-api; https://api.drupal.org/api/drupal/core!modules!user!src!Entity!User.php
 */
import type { Person, ProviderLink } from '../entry.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { listAt, textAt } from '../values.ts';
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
  missing: [
    {
      id: 'DRUPAL-AUTHMAP',
      what: 'links',
      message: 'The table of users contains no accounts at providers.',
      remedy: 'Join the rows of authmap (provider, authname; module in Drupal 7) as JSON in the column authmap.',
      isIn: (record) => Object.hasOwn(record, 'authmap'),
    },
    {
      id: 'DRUPAL-SECOND-FACTORS',
      what: 'secondFactor',
      message: 'The table of users contains no second factors and recovery codes of the module TFA.',
      remedy: 'Nothing brings them along: TFA encrypts them with a key of the site.',
      isIn: () => false,
    },
    {
      id: 'DRUPAL-ROLES',
      what: 'roles',
      message: 'The table of users contains no roles.',
      remedy: 'Join roles_target_id of user__roles as JSON in the column roles; it becomes metadata.',
      isIn: (record) => Object.hasOwn(record, 'roles'),
    },
  ],
  parts: [waysOf],
  links: (row) => listAt(row, 'authmap').flatMap(linkOf),
  dropped: `authmap uuid init status access preferred_admin_langcode created changed login default_langcode theme signature
    picture signature_format data`,
});

/** A row of authmap: of the module externalauth, or of Drupal 7, whose modules had their own accounts. */
function linkOf(row: Fields): ProviderLink[] {
  const [provider, externalUserId] = [textAt(row, 'provider') ?? textAt(row, 'module'), textAt(row, 'authname')];
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

function waysOf(row: Fields): Partial<Person> {
  const names = listAt(row, 'authmap').flatMap(linkOf);
  const isEnterprise = ({ provider }: ProviderLink) => isOfCompany(provider) || /saml|ldap|cas$/.test(provider);
  return {
    oldSignIn: signedInBy({
      password: textAt(row, 'pass') !== undefined,
      provider: names.some((link) => !isEnterprise(link)),
      enterprise: names.some(isEnterprise),
    }),
  };
}

/**
 * Joomla: rows of the table `#__users`, as JSON or CSV.
 * https://github.com/joomla/joomla-cms (installation/sql/mysql/base.sql, libraries/src/User/UserHelper.php)
 * Joined to a row: `mfa` (`#__user_mfa`, since 4.2), `passkeys` (`#__webauthn_credentials`, since 4.0) and `groups`.
 */
import type { Person } from '../entry.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, RECOVERY_CODES_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { listAt, textAt } from '../values.ts';
import { tableSource } from './table.ts';

export const joomla = tableSource({
  name: 'joomla',
  title: 'Joomla',
  missing: [
    {
      id: 'JOOMLA-FACTORS',
      what: 'secondFactor',
      message:
        'The table #__users does not say who has a second factor; Joomla 4.2 and later keep them in #__user_mfa.',
      remedy: 'Export the users with the query of docs/sources/joomla.md, which joins it as mfa.',
      isIn: hasField('mfa'),
    },
    {
      id: 'JOOMLA-PASSKEYS',
      what: 'passkey',
      message: 'The table #__users does not say who has passkeys.',
      remedy:
        'Let a program inside Joomla add them as passkeys: #__webauthn_credentials names users by a keyed digest (docs/sources/joomla.md).',
      isIn: hasField('passkeys'),
    },
    {
      id: 'JOOMLA-GROUPS',
      what: 'roles',
      message: 'The table #__users does not contain the groups of users.',
      remedy: 'Export the users with the query of docs/sources/joomla.md, which joins them as groups.',
      isIn: hasField('groups'),
    },
  ],
  isDatabase: true,
  recognizes: ['registerDate', 'lastvisitDate', 'block', 'password'],
  states: { inactive: ['block'] },
  columns: {
    userId: 'id',
    userName: 'username',
    email: 'email',
    // A user who has not yet followed the link of the activation mail is blocked, and has a code.
    emailVerified: (row) => (['', '0', undefined].includes(textAt(row, 'activation')) ? undefined : false),
    displayName: 'name',
    language: 'params.language',
    hash: 'password',
    passwordChangeRequired: 'requireReset',
  },
  parts: [factorsOf],
  signIn: (row, { hash }) => oldSignInOf({ password: hash !== undefined, passkey: listAt(row, 'passkeys').length > 0 }),
  dropped: `block sendEmail registerDate lastvisitDate activation lastResetTime resetCount otpKey otep authProvider
    usertype mfa passkeys`,
});

/** The secrets are encrypted with the secret of the site. `otep` are the emergency codes of Joomla 3. */
function factorsOf(row: Fields): Partial<Person> {
  const methods = listAt(row, 'mfa').map((one) => textAt(one, 'method') ?? '');
  const isLost = textAt(row, 'otpKey') !== undefined || methods.some((method) => method !== 'backupcodes');
  const hasCodes = textAt(row, 'otep') !== undefined || methods.includes('backupcodes');
  return {
    notes: [
      ...(isLost ? [SECOND_FACTOR_LOST] : []),
      ...(listAt(row, 'passkeys').length > 0 ? [PASSKEY_LOST] : []),
      ...(hasCodes ? [RECOVERY_CODES_LOST] : []),
    ],
  };
}

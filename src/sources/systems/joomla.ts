/**
 * Joomla: rows of the table `#__users`, as JSON or CSV.
 * https://github.com/joomla/joomla-cms (installation/sql/mysql/base.sql, libraries/src/User/UserHelper.php)
 */
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import { textAt } from '../values.ts';
import { tableSource } from './table.ts';

export const joomla = tableSource({
  name: 'joomla',
  title: 'Joomla',
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
  parts: [(row) => ({ notes: textAt(row, 'otpKey') === undefined ? [] : [SECOND_FACTOR_LOST] })],
  dropped: `block sendEmail registerDate lastvisitDate activation lastResetTime resetCount otpKey otep authProvider
    usertype`,
});

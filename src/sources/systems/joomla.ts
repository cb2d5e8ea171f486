import type { Person } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, jsonAt, textAt } from '../values.ts';
import { filledCells, otherColumns } from './users-table.ts';

/**
 * Joomla: rows of the table `#__users`, as JSON or CSV.
 * https://github.com/joomla/joomla-cms (installation/sql/mysql/base.sql, libraries/src/User/UserHelper.php)
 */

const KNOWN: ReadonlySet<string> = new Set([
  ...[
    'id',
    'name',
    'username',
    'email',
    'password',
    'block',
    'sendEmail',
    'registerDate',
    'lastvisitDate',
    'activation',
  ],
  ...['params', 'lastResetTime', 'resetCount', 'otpKey', 'otep', 'requireReset', 'authProvider', 'usertype'],
]);

export const joomla: Source = {
  name: 'joomla',
  title: 'Joomla',
  formats: ['json', 'ndjson', 'csv'],
  recognizes: (record) =>
    ['registerDate', 'lastvisitDate', 'block', 'password'].every((name) => Object.hasOwn(record, name)) ? 1 : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const row = filledCells(record);
  const isWaiting = !['', '0', undefined].includes(textAt(row, 'activation'));
  return {
    userId: textAt(row, 'id'),
    userName: textAt(row, 'username'),
    email: textAt(row, 'email'),
    displayName: textAt(row, 'name'),
    language: textAt(jsonAt(row, 'params'), 'language'),
    // A user who has not yet followed the link of the activation mail is blocked, and has a code.
    emailVerified: isWaiting ? false : undefined,
    state: boolAt(row, 'block') === true ? 'inactive' : undefined,
    hash: textAt(row, 'password'),
    passwordChangeRequired: boolAt(row, 'requireReset'),
    metadata: otherColumns(row, KNOWN),
    notes: textAt(row, 'otpKey') === undefined ? [] : [SECOND_FACTOR_LOST],
  };
}

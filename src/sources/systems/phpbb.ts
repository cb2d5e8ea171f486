import type { Person, Skipped } from '../entry.ts';
import type { Fields, Source } from '../source.ts';
import { fieldNames, textAt } from '../values.ts';
import { filledCells } from './users-table.ts';

/**
 * phpBB 3: rows of the table `phpbb_users`, as JSON or CSV. Bots and the guest account are skipped.
 * https://github.com/phpbb/phpbb (phpBB/install/schemas/schema_data.sql, phpBB/includes/constants.php);
 * https://area51.phpbb.com/docs/dev/master/db/ (users)
 */

/** USER_INACTIVE, and USER_IGNORE for bots and the guest. */
const [INACTIVE, IGNORED] = ['1', '2'];
/** Of some seventy columns, those that describe a person. */
const KEPT = fieldNames(
  'user_timezone user_birthday user_jabber user_website user_from user_occ user_interests group_id',
);

export const phpbb: Source = {
  name: 'phpbb',
  title: 'phpBB',
  formats: ['json', 'ndjson', 'csv'],
  recognizes: (record) =>
    ['username_clean', 'user_password', 'user_email'].every((name) => Object.hasOwn(record, name)) ? 1 : 0,
  converter: () => convert,
};

function convert(record: Fields): Person | Skipped {
  const row = filledCells(record);
  const type = textAt(row, 'user_type');
  if (type === IGNORED) return { skip: 'A bot or the guest account of phpBB.' };
  return {
    userId: textAt(row, 'user_id'),
    userName: textAt(row, 'username'),
    email: textAt(row, 'user_email'),
    language: textAt(row, 'user_lang'),
    state: type === INACTIVE ? 'inactive' : undefined,
    hash: textAt(row, 'user_password'),
    metadata: Object.fromEntries(Object.entries(row).filter(([name]) => KEPT.has(name) || name.startsWith('pf_'))),
  };
}

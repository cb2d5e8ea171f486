/**
 * phpBB 3: rows of the table `phpbb_users`, as JSON or CSV. Bots and the guest account are skipped.
 * https://github.com/phpbb/phpbb (phpBB/install/schemas/schema_data.sql, phpBB/includes/constants.php);
 * https://area51.phpbb.com/docs/dev/master/db/ (users)
 * Joined to a row: `oauth_accounts` (`phpbb_oauth_accounts`) and `groups` (`phpbb_user_group`).
 */
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { fieldNames, textAt } from '../values.ts';
import { tableSource } from './table.ts';

/** USER_IGNORE, for bots and the guest. Others are USER_NORMAL (0), USER_INACTIVE (1) and USER_FOUNDER (3). */
const IGNORED = '2';
/** The columns that describe a person; the table has some seventy. */
const KEPT = fieldNames(
  'user_timezone user_birthday user_jabber user_website user_from user_occ user_interests group_id groups',
);

export const phpbb = tableSource({
  name: 'phpbb',
  title: 'phpBB',
  missing: [
    {
      id: 'PHPBB-LINKS',
      what: 'links',
      message: 'The table phpbb_users does not contain the accounts of users at providers.',
      remedy:
        'Export the users with the query of docs/sources/phpbb.md, which joins phpbb_oauth_accounts as oauth_accounts.',
      isIn: hasField('oauth_accounts'),
    },
    {
      id: 'PHPBB-GROUPS',
      what: 'roles',
      message: 'The table phpbb_users contains only the default group of a user.',
      remedy: 'Export the users with the query of docs/sources/phpbb.md, which joins the groups.',
      isIn: hasField('groups'),
    },
  ],
  isDatabase: true,
  recognizes: ['username_clean', 'user_password', 'user_email'],
  skip: (row) => (textAt(row, 'user_type') === IGNORED ? 'A bot or the guest account of phpBB.' : undefined),
  states: { words: [{ field: 'user_type', active: '0 3', inactive: '1' }] },
  columns: {
    userId: 'user_id',
    userName: 'username',
    email: 'user_email',
    language: 'user_lang',
    hash: 'user_password',
    passwordForms: () => ['html'],
  },
  links: { list: 'oauth_accounts', provider: ['provider'], id: ['oauth_provider_id'] },
  signIn: (_row, { hash, links }) => oldSignInOf({ password: hash !== undefined, links }),
  metadata: (row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => KEPT.has(name) || name.startsWith('pf_'))),
});

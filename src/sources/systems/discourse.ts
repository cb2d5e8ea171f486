/**
 * Discourse: rows of the tables `users`, `user_emails` and `user_passwords`, joined, as JSON or CSV.
 * https://github.com/discourse/discourse (app/models/user.rb, app/models/user_password.rb, lib/password_hasher.rb)
 *
 * The hash is hexadecimal, the salt is used as text, and `password_algorithm` is `$pbkdf2-sha256$i=600000,l=32$`.
 */
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { firstText, textAt } from '../values.ts';
import { tableSource } from './table.ts';

const ALGORITHM = /^\$?pbkdf2-sha256\$i=(\d+),l=32\$?$/;
const ID = ['user_id', 'id'];

export const discourse = tableSource({
  name: 'discourse',
  title: 'Discourse',
  isDatabase: true,
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    return has('username') && has('password_algorithm') && (has('password_hash') || has('trust_level'));
  },
  // The system users have negative ids.
  skip: (row) => (firstText(row, ID)?.startsWith('-') ? 'A system user of Discourse.' : undefined),
  states: { inactiveUntil: ['suspended_till'], active: ['approved'] },
  columns: {
    userId: ID,
    userName: 'username',
    email: 'email',
    // Discourse activates an account when its address is confirmed.
    emailVerified: 'active',
    displayName: 'name',
    language: 'locale',
  },
  parts: [hashOf],
  dropped: `username_lower password_hash password_salt salt password_algorithm password_expired_at approved approved_at
    suspended_at suspended_till staged seen_notification_id last_posted_at previous_visit_at first_seen_at
    last_emailed_at views flag_level ip_address registration_ip_address primary normalized_email date_of_birth
    uploaded_avatar_id silenced_till`,
});

function hashOf(row: Fields): HashText {
  const text = textAt(row, 'password_hash');
  if (text === undefined) return {};
  const rounds = ALGORITHM.exec(textAt(row, 'password_algorithm') ?? '')?.[1];
  const [salt, digest] = [firstText(row, ['password_salt', 'salt']), bytesOf(text, 'hex')];
  if (rounds === undefined || salt === undefined || !digest) return unsupported('discourse-no-algorithm');
  return { hash: pbkdf2Text('sha256', Number(rounds), Buffer.from(salt), digest) };
}

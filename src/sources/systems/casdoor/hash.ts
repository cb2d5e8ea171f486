/**
 * Casdoor's passwords: `password` and `password_salt`, as `password_type` says. The API shows `***` in place of the
 * password unless the caller is a global administrator.
 * https://casdoor.org/docs/organization/password-type; https://github.com/casdoor/casdoor (cred/)
 */
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../../hash-text.ts';
import type { Note } from '../../person.ts';
import type { Fields } from '../../source.ts';
import { firstText, textAt } from '../../values.ts';

const MASKED: Note = {
  id: 'PASSWORD-MASKED',
  message: 'The export shows *** in place of the password; no password is imported. Export as a global administrator.',
};
const WHOLE = ['bcrypt', 'argon2id', 'pbkdf2-django'];
/** Digest of the hexadecimal digest and the salt; without a salt, of the password alone. */
const SALTED = ['salt', 'sha512-salt', 'md5-salt'];
const ROUNDS = 27_500;

export function hashOf(record: Fields): HashText & { password?: string } {
  const text = textAt(record, 'password');
  if (text === undefined) return {};
  if (text === '***') return { notes: [MASKED] };
  const type = firstText(record, ['passwordType', 'password_type']) ?? 'plain';
  const salt = firstText(record, ['passwordSalt', 'password_salt']);
  if (type === 'plain') return { password: text };
  if (WHOLE.includes(type)) return { hash: text };
  if (SALTED.includes(type)) return { hash: salt === undefined ? text : `${text}:${salt}` };
  const [saltBytes, digest] = [bytesOf(salt ?? '', 'base64'), bytesOf(text, 'base64')];
  if (type !== 'pbkdf2-salt' || !saltBytes || !digest) return unsupported(type);
  return { hash: pbkdf2Text('sha256', ROUNDS, saltBytes, digest) };
}

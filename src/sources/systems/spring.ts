/**
 * Spring Security: rows of the table `users` of its JdbcUserDetailsManager, and of tables like it, as JSON or CSV.
 * Passwords name their encoder in braces: `{bcrypt}$2a$10$…`.
 * https://docs.spring.io/spring-security/reference/servlet/authentication/passwords/jdbc.html (schema)
 * https://docs.spring.io/spring-security/reference/features/authentication/password-storage.html (passwords)
 * https://docs.spring.io/spring-security/reference/servlet/authentication/passkeys.html (table `user_credentials`)
 */
import { schemeOf } from '../../passwords/registry.ts';
import type { Person } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { listAt, textAt } from '../values.ts';
import { emailOrName, tableSource } from './table.ts';

/** The ids of encoders, also with a version: `{argon2@SpringSecurity_v5_8}`. */
const PASSWORD = /^\{([A-Za-z0-9-]+(?:@SpringSecurity_v\d_\d)?)\}/;
const NOOP = '{noop}';

export const spring = tableSource({
  name: 'spring',
  title: 'Spring Security',
  mayBePlain: true,
  hasUsualColumns: true,
  missing: [
    {
      id: 'SPRING-AUTHORITIES',
      what: 'roles',
      message: 'The table users does not contain the authorities of users.',
      remedy: 'Export the users with the query of docs/sources/spring.md, which joins the table authorities.',
      isIn: hasField('authorities'),
    },
    {
      id: 'SPRING-PASSKEYS',
      what: 'passkey',
      message: 'The table users does not say who has passkeys.',
      remedy: 'Export the users with the query of docs/sources/spring.md, which joins user_credentials as passkeys.',
      isIn: hasField('passkeys'),
    },
  ],
  recognizes: (record) =>
    ['username', 'enabled'].every((name) => Object.hasOwn(record, name)) &&
    PASSWORD.test(textAt(record, 'password') ?? '')
      ? 0.9
      : 0,
  states: { active: ['enabled', 'account_non_expired'], unlocked: ['account_non_locked'] },
  columns: {
    // The schema of the framework has no address; many applications use it as the user name.
    email: emailOrName,
  },
  parts: [passwordOf, (row) => ({ notes: listAt(row, 'passkeys').length > 0 ? [PASSKEY_LOST] : [] })],
  signIn: (row, { hash, password, links }) =>
    oldSignInOf({
      password: hash !== undefined || password !== undefined,
      links,
      passkey: listAt(row, 'passkeys').length > 0,
    }),
  dropped: 'password enabled account_non_locked account_non_expired credentials_non_expired passkeys',
});

/** Without braces, the application chose one encoder for all; only a text that names its scheme can be verified. */
function passwordOf(row: Fields): HashText & Pick<Person, 'password'> {
  const password = textAt(row, 'password');
  if (password === undefined) return {};
  if (password.startsWith(NOOP)) return { password: password.slice(NOOP.length) };
  if (schemeOf(password) !== undefined) return { hash: password };
  return unsupported(PASSWORD.exec(password)?.[1] ?? '');
}

/**
 * Spring Security: rows of the table `users` of its JdbcUserDetailsManager, and of tables like it, as JSON or CSV.
 * Passwords name their encoder in braces: `{bcrypt}$2a$10$…`.
 * https://docs.spring.io/spring-security/reference/servlet/authentication/passwords/jdbc.html (schema)
 * https://docs.spring.io/spring-security/reference/features/authentication/password-storage.html (passwords)
 */
import { schemeOf } from '../../passwords/registry.ts';
import type { Person } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { textAt } from '../values.ts';
import { emailOrName, tableSource } from './table.ts';

/** The ids of encoders, also with a version: `{argon2@SpringSecurity_v5_8}`. */
const PASSWORD = /^\{([A-Za-z0-9-]+(?:@SpringSecurity_v\d_\d)?)\}/;
const NOOP = '{noop}';

export const spring = tableSource({
  name: 'spring',
  title: 'Spring Security',
  mayBePlain: true,
  hasUsualColumns: true,
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
  parts: [passwordOf],
  dropped: 'password enabled account_non_locked account_non_expired credentials_non_expired',
});

/** Without braces, the application chose one encoder for all; only a text that names its scheme can be verified. */
function passwordOf(row: Fields): HashText & Pick<Person, 'password'> {
  const password = textAt(row, 'password');
  if (password === undefined) return {};
  if (password.startsWith(NOOP)) return { password: password.slice(NOOP.length) };
  if (schemeOf(password) !== undefined) return { hash: password };
  return unsupported(PASSWORD.exec(password)?.[1] ?? '');
}

import { schemeOf } from '../../passwords/registry.ts';
import type { Person } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, textAt } from '../values.ts';
import { filledCells, otherColumns, usualColumns } from './users-table.ts';

/**
 * Spring Security: rows of the table `users` of its JdbcUserDetailsManager, and of tables like it, as JSON or CSV.
 * Passwords name their encoder in braces: `{bcrypt}$2a$10$…`.
 * https://docs.spring.io/spring-security/reference/servlet/authentication/passwords/jdbc.html (schema)
 * https://docs.spring.io/spring-security/reference/features/authentication/password-storage.html (passwords)
 */

const KNOWN: ReadonlySet<string> = new Set([
  ...['password', 'enabled', 'account_non_locked', 'account_non_expired', 'credentials_non_expired'],
]);
/** The ids of encoders, also with a version: `{argon2@SpringSecurity_v5_8}`. */
const PASSWORD = /^\{([A-Za-z0-9-]+(?:@SpringSecurity_v\d_\d)?)\}/;
const NOOP = '{noop}';

export const spring: Source = {
  name: 'spring',
  title: 'Spring Security',
  formats: ['json', 'ndjson', 'csv'],
  recognizes: (record) =>
    Object.hasOwn(record, 'username') &&
    Object.hasOwn(record, 'enabled') &&
    PASSWORD.test(textAt(record, 'password') ?? '')
      ? 0.9
      : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const row = filledCells(record);
  const usual = usualColumns(row);
  const password = textAt(row, 'password');
  const { hash, notes = [] } = hashOf(password);
  return {
    ...usual,
    // The schema of the framework has no address; many applications use it as the user name.
    email: usual.email ?? (usual.userName?.includes('@') ? usual.userName : undefined),
    state: usual.state ?? (boolAt(row, 'account_non_locked') === false ? 'locked' : undefined),
    hash,
    password: password?.startsWith(NOOP) ? password.slice(NOOP.length) : undefined,
    metadata: otherColumns(row, KNOWN),
    notes,
  };
}

/** Without braces, the application chose one encoder for all; only a text that names its scheme can be verified. */
function hashOf(password: string | undefined): HashText {
  if (password === undefined || password.startsWith(NOOP)) return {};
  if (schemeOf(password) !== undefined) return { hash: password };
  return unsupported(PASSWORD.exec(password)?.[1] ?? '');
}

/** Opens the database that the options name. */
import { openMysql } from './mysql.ts';
import { openPostgres } from './postgres.ts';
import { addressOf, type Database } from './sql.ts';
import { optionOf, type PullOption, type PullSettings, requiredOption, type Secret, secretOf } from './system.ts';

export const DATABASE: PullOption = {
  describe: 'URL of the database without a password: postgres://user@host:5432/name',
  required: true,
};

export const DATABASE_PASSWORD: Secret = {
  name: 'password',
  env: 'PULL_PASSWORD',
  prompt: 'Password of the database',
  optional: true,
};

/** @throws PullError @throws UsageError */
export async function openDatabase(settings: PullSettings): Promise<Database> {
  const address = addressOf(requiredOption(settings, 'database'));
  const { signal } = settings;
  const password = secretOf(settings, 'password') || undefined;
  if (address.dialect === 'mysql') return openMysql(address, { password, signal });
  return openPostgres(address, { password, signal, schema: optionOf(settings, 'schema') });
}

/** Every column that holds encrypted values. A test fails for one that is missing here. */
import { SIGNING_KEY_SEAL } from '../identity/oauth/signing-keys.ts';
import { TOTP_SEAL } from '../identity/totp/secret.ts';
import { ENTRY_SEAL, FILE_KEY_SEAL, PASSWORD_SEAL } from '../imports/seals.ts';
import { sourceSeal } from '../password-sources/store.ts';
import { pepperSeal } from '../passwords/pepper.ts';
import { webhookSeal } from '../webhooks/secret.ts';

/** The primary key of a row, as text. */
export type RowKey = string[];

export interface SealedTable {
  name: string;
  /** The columns of the primary key, with their types. */
  key: readonly (readonly [column: string, type: string])[];
  /** The encrypted columns, with the purpose that their values are encrypted for. */
  columns: Readonly<Record<string, (key: RowKey) => string>>;
}

/** Items come before second factors, as an import copies the secret of a second factor from an item to its user. */
export const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'import_items',
    key: [
      ['import_id', 'bigint'],
      ['ordinal', 'integer'],
    ],
    columns: {
      password_sealed: () => PASSWORD_SEAL,
      totp_sealed: () => TOTP_SEAL,
      entry_sealed: () => ENTRY_SEAL,
    },
  },
  {
    name: 'import_files',
    key: [
      ['import_id', 'bigint'],
      ['file_id', 'text'],
    ],
    columns: { key_sealed: () => FILE_KEY_SEAL },
  },
  { name: 'import_peppers', key: [['import_id', 'bigint']], columns: { sealed: ([id]) => pepperSeal(id as string) } },
  { name: 'user_totp', key: [['user_id', 'text']], columns: { secret: () => TOTP_SEAL } },
  { name: 'signing_keys', key: [['id', 'text']], columns: { sealed_jwk: () => SIGNING_KEY_SEAL } },
  { name: 'password_sources', key: [['id', 'text']], columns: { secret_sealed: ([id]) => sourceSeal(id as string) } },
  { name: 'organizations', key: [['id', 'text']], columns: { webhook_secret: ([id]) => webhookSeal(id as string) } },
];

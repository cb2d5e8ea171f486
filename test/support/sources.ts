/** The fixtures of the sources: their files, their command-line options, and the expected result. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface SourceFixture {
  /** The value for `--from`. */
  source: string;
  /** Paths of the files, in the order of the command line. */
  files: string[];
  /** Other command-line options. */
  args: string[];
  /** Number of records that become entries, including those that the service rejects. */
  users: number;
  skipped: number;
  /** Ids, or else user names, of the users whom the service rejects. */
  failed: string[];
  /** Users who log in with their old password; `totp` is the imported secret of their second factor, in base32. */
  logins: { loginName: string; password: string; totp?: string }[];
}

const FOLDER = fileURLToPath(new URL('../fixtures/sources/', import.meta.url));

/** Every folder is one fixture: `keycloak`, or `keycloak-old` for another one of the same source. */
export function sourceFixtures(): SourceFixture[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => readFixture(name));
}

function readFixture(name: string): SourceFixture {
  const folder = `${FOLDER}${name}`;
  const expected = JSON.parse(readFileSync(`${folder}/expected.json`, 'utf8'));
  return {
    source: expected.source ?? name,
    files: expected.files.map((file: string) => `${folder}/${file}`),
    args: (expected.args ?? []).map((arg: string) => arg.replaceAll('{dir}', folder)),
    users: expected.users,
    skipped: expected.skipped ?? 0,
    failed: expected.failed ?? [],
    logins: expected.logins ?? [],
  };
}

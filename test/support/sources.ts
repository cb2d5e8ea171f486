/** The fixtures of the sources: their files, how they are given on the command line, and what must come of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface SourceFixture {
  /** As in `--from`. */
  source: string;
  /** Paths of the files, in order of the command line. */
  files: string[];
  /** Further options of the command line. */
  args: string[];
  /** Records that become entries, also those that the service will refuse. */
  users: number;
  skipped: number;
  /** Ids, or user names where there are no ids, of those whom the service refuses. */
  failed: string[];
  /** Who logs in with the old password; `totp` is the secret of a second factor that came along, in base32. */
  logins: { loginName: string; password: string; totp?: string }[];
}

const FOLDER = fileURLToPath(new URL('../fixtures/sources/', import.meta.url));

/** Every folder is one fixture: `keycloak`, or `keycloak-old` for a further one of the same source. */
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

/**
 * Files from the wild: exports that were not written for Muster, each with the options of its import and with what is
 * right. A case is a folder with `case.json` and its files; a folder with `cases.json` holds many.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorId } from './answers.ts';
import { runMuster } from './processes/muster.ts';
import type { Service } from './processes/service.ts';

export interface WildCase {
  case: string;
  /** Path of the file. */
  file: string;
  /** Command-line options besides the organization and the time limit. */
  options: string[];
  env?: Record<string, string>;
  /** What is right, for people. */
  right: string;
  /** Exit code of the import; absent: any. */
  exit?: number;
  /** Texts that the command must show. */
  says?: string[];
  /** Texts that it must not show. */
  neverSays?: string[];
  /** States of the imported users in the database by their user name; users who are not named are not compared. */
  states?: Record<string, string>;
  logins: WildLogin[];
}

export interface WildLogin {
  name: string;
  password: string;
  /** `ok`, or with a remark `ok (…)`; `refused`; any other text is not judged. */
  expected: string;
}

/** How one sign-in went. */
export interface Attempt extends WildLogin {
  isIn: boolean;
  /** The password was right, and a code of the second factor is needed too. */
  needsCode: boolean;
  /**
   * The user was imported as active with a password, so what the dry run said of the hash was "will verify". Of an
   * address that is not verified it says that it does not sign in, so a user who typed theirs does not count.
   */
  isActive: boolean;
}

export interface Ran {
  code: number;
  shown: string;
  attempts: Attempt[];
  states: Record<string, string>;
}

const OWN = fileURLToPath(new URL('../fixtures/wild/', import.meta.url));

/** @param folder with folders of one case each, or with `cases.json`; default: the project's */
export function wildCases(folder = OWN): WildCase[] {
  const list = `${folder}/cases.json`;
  if (existsSync(list)) return JSON.parse(readFileSync(list, 'utf8')).cases.map(read(folder));
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => {
    const given = JSON.parse(readFileSync(`${folder}/${name}/case.json`, 'utf8'));
    return read(`${folder}/${name}`)({ ...given, case: name });
  });
}

function read(folder: string) {
  return (given: WildCase): WildCase => ({ ...given, options: given.options ?? [], file: `${folder}/${given.file}` });
}

/** Imports the file into a new organization, and lets everybody sign in over HTTP. */
export async function runWild(service: Service, given: WildCase): Promise<Ran> {
  const org = await service.newOrg();
  const env = { ...given.env, MUSTER_URL: service.url, MUSTER_TOKEN: org.ownerToken };
  const args = [given.file, ...given.options, '--org', org.orgId, '--timeout', '10m', '--mails', 'none', '--watch'];
  const { code, stdout, stderr } = await runMuster(['import', ...args], { env });
  const states = await statesIn(service, org.orgId);
  const attempts: Attempt[] = [];
  for (const login of given.logins) attempts.push(await attempt(service, org.orgId, login));
  return { code, shown: stdout + stderr, attempts, states };
}

async function statesIn({ pool }: Service, orgId: string): Promise<Record<string, string>> {
  const { rows } = await pool.query(
    'select user_name, state from users where org_id = $1 and kind = \'human\' order by user_name collate "C"',
    [orgId],
  );
  return Object.fromEntries(rows.map((row) => [row.user_name, row.state]));
}

/** Too many requests; no capacity. */
const BUSY = [429, 503];

async function attempt({ pool, login }: Service, orgId: string, given: WildLogin): Promise<Attempt> {
  const answer = await login(given.name, given.password, { orgId });
  const { status } = answer;
  if (BUSY.includes(status)) throw new Error(`${given.name}: the service answers ${status}, which judges no password`);
  const { rows } = await pool.query(
    `select 1 from users where org_id = $1 and state = 'active' and password_hash is not null
       and (lower($2) = lower(user_name) or email_verified and lower($2) = lower(email))`,
    [orgId, given.name],
  );
  const needsCode = errorId(answer) === 'SESSION-TOTP-REQUIRED';
  return { ...given, isIn: status === 201, needsCode, isActive: rows.length > 0 };
}

/** Whether somebody who must be kept out got in, or had their password taken. */
export function isOpenDoor({ expected, isIn, needsCode }: Attempt): boolean {
  return (isIn || needsCode) && expected.startsWith('refused');
}

/** Whether a correct password of an imported active user was refused; not if only a code is missing. */
export function isDeadHash({ expected, isIn, needsCode, isActive }: Attempt): boolean {
  return !isIn && !needsCode && isActive && !expected.startsWith('refused');
}

/** Whether the sign-in went as it must; undefined where the case leaves it open. */
export function isRight({ expected, isIn, needsCode }: Attempt): boolean | undefined {
  if (expected.startsWith('refused')) return !isIn && !needsCode;
  return expected === 'ok' || expected.startsWith('ok (') ? isIn : undefined;
}

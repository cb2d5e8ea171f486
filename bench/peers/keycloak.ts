/**
 * Keycloak: `partialImport` into a realm, with the settings of the JVM that its own script has, on the newest Java of the
 * machine. Tests start Keycloak too (test/support/keycloak.ts).
 *
 * The distribution comes from Maven Central once, checked, and is prepared for starts without a build.
 * Users keep their hashes as credentials, but Keycloak verifies bcrypt only with an extension, so nobody signs in.
 */
import { createHash } from 'node:crypto';
import { cp, glob, mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { claimPort } from '../../src/platform/lifecycle.ts';
import { Skipped, timed } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { user } from '../testbed/load.ts';
import { findExecutable, installed, run } from '../testbed/programs.ts';
import { startKept } from '../testbed/stores.ts';
import { startStores } from '../testbed/testbed.ts';
import {
  answers,
  askJson,
  expectCount,
  fetchedOrSkip,
  inGroups,
  type Peer,
  programOrSkip,
  startFolder,
  untilReady,
} from './peer.ts';

export const KEYCLOAK = '26.7.3';
const SHA256 = '27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f';
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
const GROUP = { size: 1000, limit: 2 };
const REALM = 'moved';
const ADMIN = { username: 'admin', password: 'admin of the bench' };
/** Longer than any run. */
const TOKEN_SECONDS = 86_400;
/** What its script gives to Java. */
const JVM = ['-Xms64m', '-Xmx512m', '-XX:MetaspaceSize=96M', '-XX:MaxMetaspaceSize=256m', '-XX:+UseG1GC'];

export const keycloak: Peer = {
  how: `partialImport, ${GROUP.size} users a request, ${GROUP.limit} at a time, on a JVM that was just started`,
  async move(scope, { users, say }) {
    const [maven, python] = [programOrSkip('mvn'), programOrSkip('python3')];
    const java = await newestJava();
    say(`Keycloak ${KEYCLOAK} is fetched, unless it is there`);
    const folder = await fetchedOrSkip(scope, 'Keycloak', (signal) =>
      keycloakFolder({ java: java.path, maven, python }, 'postgres', signal),
    );
    const { databaseUrl, pool } = await startStores(scope, { redis: false, tcp: true });
    const port = await claimPort('127.0.0.1', 0);
    const url = await startKeycloak(scope, { folder, java: java.path, jvm: JVM, port, env: settings(databaseUrl) });
    say('users are moved into Keycloak');
    const token = await longToken(url);
    await askJson(`${url}/admin/realms`, { token, body: { realm: REALM, enabled: true } });
    const send = (numbers: number[]) => {
      const body = { ifResourceExists: 'FAIL', users: numbers.map(representation) };
      return askJson(`${url}/admin/realms/${REALM}/partialImport`, { token, body });
    };
    await send([users]);
    const ms = await timed(() => inGroups(users, GROUP, send));
    const { rows } = await pool.query<{ users: number; hashes: number }>(COUNT, [REALM]);
    expectCount('users', rows[0]?.users, users + 1);
    expectCount('hashes', rows[0]?.hashes, users + 1);
    return { ms, product: `Keycloak ${KEYCLOAK} on Java ${java.version}`, signsIn: false };
  },
};

const COUNT = `select count(distinct u.id)::int as users, count(c.secret_data)::int as hashes
  from user_entity u join realm r on r.id = u.realm_id left join credential c on c.user_id = u.id
  where r.name = $1`;

/** A user with the hash as a credential, as its export writes it. */
function representation(n: number): object {
  const { userName, profile, email, hashedPassword } = user(n);
  const { firstName, lastName, preferredLanguage } = profile;
  const secretData = JSON.stringify({ value: hashedPassword.value, salt: '' });
  const credentialData = JSON.stringify({ algorithm: 'bcrypt', hashIterations: 10 });
  return {
    username: userName,
    ...{ firstName, lastName, email: email.email, emailVerified: true, enabled: true },
    attributes: { locale: [preferredLanguage] },
    credentials: [{ type: 'password', secretData, credentialData }],
  };
}

function settings(databaseUrl: string): Record<string, string> {
  const { host, pathname, username, password } = new URL(databaseUrl);
  return {
    KC_DB_URL: `jdbc:postgresql://${host}${pathname}`,
    KC_DB_USERNAME: username,
    KC_DB_PASSWORD: decodeURIComponent(password),
    KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
    KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  };
}

/** A token of the administrator that outlives the run; usual ones expire after a minute. */
async function longToken(url: string): Promise<string> {
  const form = { grant_type: 'password', client_id: 'admin-cli', ...ADMIN };
  const login = async () =>
    (await askJson(`${url}/realms/master/protocol/openid-connect/token`, { form })).access_token as string;
  const times = { accessTokenLifespan: TOKEN_SECONDS, ssoSessionMaxLifespan: TOKEN_SECONDS };
  await askJson(`${url}/admin/realms/master`, { method: 'PUT', token: await login(), body: times });
  return login();
}

interface Java {
  path: string;
  version: string;
}

/** The newest Java of the machine, by the file `release` of each. @throws Skipped if it has none */
async function newestJava(): Promise<Java> {
  const onPath = findExecutable(['java']);
  const homes = new Set([process.env.JAVA_HOME ?? [], onPath ? dirname(dirname(await realpath(onPath))) : []].flat());
  for await (const home of glob('/usr/lib/jvm/*')) homes.add(home);
  const found: Java[] = [];
  for (const home of homes) {
    const path = findExecutable(['java'], { before: [join(home, 'bin')] });
    const release = await readFile(join(home, 'release'), 'utf8').catch(() => '');
    const version = /^JAVA_VERSION="([^"]+)"/m.exec(release)?.[1];
    if (version !== undefined && path?.startsWith(home)) found.push({ path, version });
  }
  const [newest] = found.sort((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }));
  if (!newest) throw new Skipped('java is not on this machine');
  return newest;
}

/**
 * The folder of the distribution, prepared for this database.
 * @throws Error when it cannot be had
 */
export function keycloakFolder(
  programs: Record<'java' | 'maven' | 'python', string>,
  database: 'dev-mem' | 'postgres',
  signal?: AbortSignal,
): Promise<string> {
  return installed(`keycloak-${database}`, `${KEYCLOAK} ${SHA256} 2`, async (folder) => {
    const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK}:zip`;
    const maven = ['-q', '-B', PLUGIN, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`];
    await run(programs.maven, maven, folder, {}, signal);
    const archive = join(folder, `keycloak-quarkus-dist-${KEYCLOAK}.zip`);
    const sum = createHash('sha256')
      .update(await readFile(archive))
      .digest('hex');
    if (sum !== SHA256) throw new Error(`${archive} has another SHA-256 than expected: ${sum}`);
    await run(programs.python, ['-m', 'zipfile', '-e', archive, folder], folder, {}, signal);
    await rm(archive);
    const build = ['build', `--db=${database}`, '--cache=local', '--health-enabled=false', '--metrics-enabled=false'];
    await run(programs.java, argumentsOf(folder, homeIn(folder), SMALL_JVM, build), folder, {}, signal);
  });
}

const homeIn = (folder: string) => join(folder, `keycloak-${KEYCLOAK}`);

/** Less memory and a faster start. */
export const SMALL_JVM = [
  ...['-Xms192m', '-Xmx384m', '-XX:MaxMetaspaceSize=256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
  // Its classes are of a checked archive; a Java that does not know the option checks them again.
  ...['-XX:+UnlockDiagnosticVMOptions', '-XX:+IgnoreUnrecognizedVMOptions', '-XX:-BytecodeVerificationRemote'],
];

interface Start {
  /** Of `keycloakFolder`. */
  folder: string;
  java: string;
  /** Options of the JVM. */
  jvm: readonly string[];
  port: number;
  env?: Record<string, string>;
  /** A realm that it starts with, as `kc.sh export` writes it. */
  realm?: { realm: string };
}

/** Starts Keycloak with files of its own. @returns its URL @throws Error with what it wrote when it does not start */
export async function startKeycloak(scope: Scope, start: Start): Promise<string> {
  const { folder, java, jvm, port, env = {}, realm } = start;
  const home = await startFolder(scope);
  for (const name of ['lib', 'providers', 'themes']) await symlink(join(homeIn(folder), name), join(home, name));
  await cp(join(homeIn(folder), 'conf'), join(home, 'conf'), { recursive: true });
  await mkdir(join(home, 'data/import'), { recursive: true });
  const url = `http://127.0.0.1:${port}`;
  const args = ['start', '--optimized', '--http-enabled=true', '--http-host=127.0.0.1'];
  args.push(`--http-port=${port}`, `--hostname=${url}`);
  if (realm) {
    await writeFile(join(home, 'data/import', `${realm.realm}-realm.json`), JSON.stringify(realm));
    args.push('--import-realm');
  }
  const command = [java, ...argumentsOf(folder, home, jvm, args)];
  const server = await startKept(scope, 'TERM', command, { env: { ...process.env, ...env } });
  await untilReady('Keycloak', server, () =>
    answers(`${url}/realms/${realm?.realm ?? 'master'}/.well-known/openid-configuration`),
  );
  return url;
}

/** What `kc.sh` gives to Java. */
function argumentsOf(folder: string, home: string, jvm: readonly string[], args: string[]): string[] {
  const opened = ['lang', 'util', 'util.concurrent', 'security'].map(
    (name) => `--add-opens=java.base/java.${name}=ALL-UNNAMED`,
  );
  const properties = [
    'java.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory',
    'java.util.logging.manager=org.jboss.logmanager.LogManager',
    'picocli.disable.closures=true',
    `kc.home.dir=${home}`,
    `jboss.server.config.dir=${join(home, 'conf')}`,
  ].map((setting) => `-D${setting}`);
  const main = ['-cp', join(homeIn(folder), 'lib/quarkus-run.jar'), 'io.quarkus.bootstrap.runner.QuarkusEntryPoint'];
  return [...jvm, ...opened, '--enable-native-access=ALL-UNNAMED', ...properties, ...main, ...args];
}

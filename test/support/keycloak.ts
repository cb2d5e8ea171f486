/**
 * A real Keycloak with one realm, on free loopback ports and a database in memory. The distribution comes from Maven
 * Central once, checked, and is prepared for starts without a build.
 *
 * On crash: it ends with this process, as its keeper reads a pipe that this process holds open.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { installed, run } from '../../bench/testbed/programs.ts';
import { freePort } from './free-port.ts';
import { findProgram, required, requireOrSkip } from './runner/programs.ts';
import { waitFor } from './wait.ts';

const VERSION = '26.5.6';
const SHA256 = '490189d9dff05272432d51f71a069462eeca97f2920a694d539a1e6c26a5a347';
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
const KEEPER = `exec 3<&0; "$@" & server=$!; { read -r _ <&3; kill -s TERM $server; } & wait $server`;
/** Half a minute of one processor, on a machine that runs other tests too. */
const START_MS = 300_000;

export interface Keycloak {
  /** Of the realm. */
  issuer: string;
  stop(): Promise<void>;
}

/**
 * The folder of the prepared distribution; undefined if it cannot be had, after the test is skipped by name.
 * @throws Error instead, if TEST_REQUIRE names Maven
 */
export async function keycloakOrSkip(t: TestContext): Promise<string | undefined> {
  for (const program of ['java', 'maven', 'python'] as const) {
    if (!requireOrSkip(t, program)) return undefined;
  }
  try {
    return await installed('keycloak', `${VERSION} ${SHA256} 1`, install);
  } catch (error) {
    if (required().includes('maven')) throw error;
    t.skip(`Keycloak ${VERSION} could not be fetched`);
    return undefined;
  }
}

async function install(folder: string): Promise<void> {
  const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;
  const maven = ['-q', '-B', PLUGIN, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`];
  await run(findProgram('maven') as string, maven, folder);
  const archive = join(folder, `keycloak-quarkus-dist-${VERSION}.zip`);
  const sum = createHash('sha256')
    .update(await readFile(archive))
    .digest('hex');
  if (sum !== SHA256) throw new Error(`${archive} has another SHA-256 than expected: ${sum}`);
  await run(findProgram('python') as string, ['-m', 'zipfile', '-e', archive, folder], folder);
  await rm(archive);
  const build = ['build', '--db=dev-mem', '--cache=local', '--health-enabled=false', '--metrics-enabled=false'];
  await run(findProgram('java') as string, programOf(folder, homeIn(folder), build), folder);
}

const homeIn = (folder: string) => join(folder, `keycloak-${VERSION}`);

/**
 * @param folder of `keycloakOrSkip`
 * @param realm its representation, as `kc.sh export` writes it
 */
export async function startKeycloak(folder: string, realm: { realm: string }): Promise<Keycloak> {
  const home = await mkdtemp(join(tmpdir(), 'muster-keycloak-'));
  for (const name of ['lib', 'providers', 'themes']) await symlink(join(homeIn(folder), name), join(home, name));
  await cp(join(homeIn(folder), 'conf'), join(home, 'conf'), { recursive: true });
  await mkdir(join(home, 'data/import'), { recursive: true });
  await writeFile(join(home, 'data/import', `${realm.realm}-realm.json`), JSON.stringify(realm));
  const url = `http://127.0.0.1:${await freePort()}`;
  const start = ['start', '--optimized', '--import-realm', '--http-enabled=true', '--http-host=127.0.0.1'];
  const where = [`--http-port=${new URL(url).port}`, `--hostname=${url}`];
  const program = programOf(folder, home, [...start, ...where]);
  const command = ['-c', KEEPER, 'sh', findProgram('java') as string, ...program];
  const child = spawn('/bin/sh', command, { cwd: home, stdio: ['pipe', 'pipe', 'pipe'] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => output.push(text));
  const exited = once(child, 'exit');
  const issuer = `${url}/realms/${realm.realm}`;
  await waitFor(async () => child.exitCode !== null || isReady(issuer), { what: 'Keycloak', timeoutMs: START_MS });
  if (child.exitCode !== null) throw new Error(`Keycloak ended (${child.exitCode}):\n${output.join('')}`);
  return {
    issuer,
    async stop() {
      child.stdin.end();
      await exited;
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function isReady(issuer: string): Promise<boolean> {
  const answer = await fetch(`${issuer}/.well-known/openid-configuration`).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.ok === true;
}

/** What `kc.sh` gives to Java, with less memory and a faster start. */
function programOf(folder: string, home: string, args: string[]): string[] {
  const opened = ['util', 'util.concurrent', 'security'].map(
    (name) => `--add-opens=java.base/java.${name}=ALL-UNNAMED`,
  );
  const memory = ['-Xms192m', '-Xmx384m', '-XX:MaxMetaspaceSize=256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  // Its classes are of a checked archive; a Java that does not know the option checks them again.
  const unverified = ['UnlockDiagnosticVMOptions', 'IgnoreUnrecognizedVMOptions'].map((option) => `-XX:+${option}`);
  unverified.push('-XX:-BytecodeVerificationRemote');
  const settings = [
    'java.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory',
    'java.util.logging.manager=org.jboss.logmanager.LogManager',
    'picocli.disable.closures=true',
    `kc.home.dir=${home}`,
    `jboss.server.config.dir=${join(home, 'conf')}`,
  ].map((setting) => `-D${setting}`);
  const main = ['-cp', join(homeIn(folder), 'lib/quarkus-run.jar'), 'io.quarkus.bootstrap.runner.QuarkusEntryPoint'];
  return [...memory, ...unverified, ...opened, ...settings, ...main, ...args];
}

/** A real Keycloak with one realm, on a free loopback port and a database in memory (bench/peers/keycloak.ts). */
import type { TestContext } from 'node:test';
import { KEYCLOAK, keycloakFolder, SMALL_JVM, startKeycloak as startServer } from '../../bench/peers/keycloak.ts';
import { openScope } from '../../bench/scope.ts';
import { freePort } from './free-port.ts';
import { findProgram, required, requireOrSkip } from './runner/programs.ts';

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
  const pathOf = (program: 'java' | 'maven' | 'python') => findProgram(program) as string;
  const programs = { java: pathOf('java'), maven: pathOf('maven'), python: pathOf('python') };
  try {
    return await keycloakFolder(programs, 'dev-mem');
  } catch (error) {
    if (required().includes('maven')) throw error;
    t.skip(`Keycloak ${KEYCLOAK} could not be fetched`);
    return undefined;
  }
}

/**
 * @param folder of `keycloakOrSkip`
 * @param realm its representation, as `kc.sh export` writes it
 */
export async function startKeycloak(folder: string, realm: { realm: string }): Promise<Keycloak> {
  const scope = openScope();
  try {
    const java = findProgram('java') as string;
    const url = await startServer(scope, { folder, java, jvm: SMALL_JVM, port: await freePort(), realm });
    return { issuer: `${url}/realms/${realm.realm}`, stop: () => scope.close() };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/**
 * Loads what belongs to the server, which the package muster-cli does not have, and opens the database for commands that
 * run beside the service.
 */
import type { Keyring } from '../../operate/known-keys.ts';
import type { Config } from '../../platform/config.ts';
import { StartError } from '../../platform/errors.ts';
import type { Shell } from '../terminal/completion.ts';
import { wrongUsage } from '../terminal/failure.ts';

/**
 * @param loading the import of a file of the server
 * @throws Failure when this is the command line alone
 */
export async function ofTheServer<T>(loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw wrongUsage(
      'This command needs the packages of the server, which muster-cli does not contain.',
      'Run it where the service runs: `npm run muster` in its folder, or `node src/cli/main.ts` in its container.',
    );
  }
}

/**
 * Works with the database and the keys of this machine's service, which may run or not.
 * @param name what the connection is called in the database
 * @param startsDatabase start the embedded database, if it is the service's and does not run
 * @throws Failure when the settings are wrong, the database does not answer, or `work` throws a StartError
 */
export async function besideDatabase<T>(
  env: Shell['env'],
  name: string,
  work: (keyring: Keyring & { config: Config }) => Promise<T>,
  { startsDatabase = false }: { startsDatabase?: boolean } = {},
): Promise<T> {
  // Loaded only when needed, as they import the service's settings: commands should start fast.
  const [{ ConfigError, readConfig }, { openKeyring, startEmbedded }] = await ofTheServer(
    Promise.all([import('../../platform/config.ts'), import('../../operate/known-keys.ts')]),
  );
  try {
    const config = readConfig(env);
    const embedded = startsDatabase ? await startEmbedded(config) : undefined;
    try {
      const keyring = await openKeyring(config, name, embedded?.url);
      return await work({ ...keyring, config }).finally(() => keyring.pool.end());
    } finally {
      await embedded?.stop();
    }
  } catch (error) {
    if (error instanceof StartError || error instanceof ConfigError) throw wrongUsage(error.message);
    throw error;
  }
}

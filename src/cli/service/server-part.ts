/** Loads what belongs to the server; the package muster-cli does not have it. */
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

/**
 * The address that the API is going to listen on, tried out before anything is written.
 * Somebody may still take the port in the moment between; the API then says the same.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartError } from '../start-error.ts';

/**
 * @returns the port to listen on: `port`, or a free one for 0
 * @throws StartError when nobody can listen there
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer().listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError({ host, port, setting: 'PORT' }, error as NodeJS.ErrnoException);
  }
  const claimed = (server.address() as { port: number }).port;
  server.close();
  await once(server, 'close');
  return claimed;
}

export interface Address {
  host: string;
  port: number;
  /** The setting that names the port. */
  setting: 'PORT' | 'HEALTH_PORT';
}

/** What to tell whoever starts a process that could not listen there. */
export function listenError({ host, port, setting }: Address, error: NodeJS.ErrnoException): StartError {
  if (error.code === 'EADDRINUSE') {
    return new StartError(
      `Port ${port} on ${host} is in use by another program: stop that one, or set ${setting} to another.`,
    );
  }
  return new StartError(
    `Nobody can listen on ${host}, port ${port} (${error.code}): set HOST and ${setting} to an address of this machine.`,
  );
}

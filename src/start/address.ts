/**
 * Checks the address that the API will listen on before anything is written.
 * Another program may still take the port in between; the API then fails with the same message.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartError } from '../start-error.ts';

/**
 * @returns the port to listen on: `port`, or a free one for 0
 * @throws StartError when it is not possible to listen on this address
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
  setting: 'PORT' | 'HEALTH_PORT' | 'METRICS_PORT';
}

/** The message for the person who starts a process that cannot listen on its address. */
export function listenError({ host, port, setting }: Address, error: NodeJS.ErrnoException): StartError {
  if (error.code === 'EADDRINUSE') {
    return new StartError(
      `Port ${port} on ${host} is in use by another program: stop that program, or set ${setting} to another port.`,
    );
  }
  return new StartError(
    `Cannot listen on ${host}, port ${port} (${error.code}): set HOST and ${setting} to an address of this machine.`,
  );
}

/**
 * A TCP proxy before PostgreSQL that can fall silent, as a network that loses everything: connections stay open and new ones are
 * taken, and nothing passes in either direction. Or it cuts all of them.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SilentProxy {
  /** The database by way of the proxy. */
  url: string;
  /** From now on nothing passes; what is under way stays under way. */
  silence(): void;
  /** New connections pass again; those that were silenced stay so, and those that were taken meanwhile are closed. */
  recover(): void;
  /** Breaks every connection, as a server that dies does. */
  cut(): void;
  stop(): Promise<void>;
}

/** @param databaseUrl with the server's TCP port, also where it names a socket */
export async function startSilentProxy(databaseUrl: string): Promise<SilentProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<Socket>();
  const ignored = new Set<Socket>();
  let isSilent = false;
  const server = createServer((client) => {
    keep(client, open);
    if (isSilent) {
      ignored.add(client);
      return;
    }
    const upstream = keep(connect(Number(target.port), target.hostname), open);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1').unref(); // a test that fails need not stop it
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  url.searchParams.delete('host');
  return {
    url: url.toString(),
    silence() {
      isSilent = true;
      for (const socket of open) socket.unpipe().pause();
    },
    recover() {
      isSilent = false;
      for (const socket of ignored) socket.destroy();
    },
    cut() {
      for (const socket of open) socket.resetAndDestroy();
    },
    async stop() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

function keep(socket: Socket, open: Set<Socket>): Socket {
  open.add(socket.unref());
  socket.on('close', () => open.delete(socket));
  socket.on('error', () => {}); // breaking is what it is for
  return socket;
}

/**
 * A TCP proxy in front of PostgreSQL that can fall silent, like a network that loses all packets: connections stay
 * open, new ones are accepted, and no data passes in either direction. It can also break all connections.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SilentProxy {
  /** The URL of the database through the proxy. */
  url: string;
  /** From now on no data passes; pending requests stay pending. */
  silence(): void;
  /** New connections work again; silenced ones stay silent, and those accepted during the silence are closed. */
  recover(): void;
  /** Breaks every connection, like a dying server. */
  cut(): void;
  stop(): Promise<void>;
}

/** @param databaseUrl with the server's TCP port, even if it names a socket */
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
  server.listen(0, '127.0.0.1').unref(); // a failed test need not stop it
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
  socket.on('error', () => {}); // broken connections are its purpose
  return socket;
}

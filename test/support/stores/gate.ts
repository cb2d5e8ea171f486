/** A TCP address in front of a server, which simulates its absence: clients cannot connect until the gate is opened. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What happens to connections while the gate is shut: they are refused, or reset as by a dying server. */
export type Manner = 'refuse' | 'reset';

export interface Gate {
  /** The server's URL, with the address of the gate. */
  url: string;
  /** Number of connections that were reset. */
  readonly resets: number;
  open(): Promise<void>;
  /** Breaks all open connections. */
  shut(manner: Manner): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a gate, which is shut. @param target address of the server, as `redis://` or `postgres://` */
export async function startGate(target: string, first: Manner = 'refuse'): Promise<Gate> {
  const server = new URL(target);
  const living = new Set<Socket>();
  let manner: Manner | undefined = first;
  let resets = 0;
  let listening: Server | undefined;

  function take(client: Socket): void {
    client.on('error', () => {}); // broken connections are its purpose
    if (manner) {
      resets++;
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(server.port), '127.0.0.1');
    upstream.on('error', () => {}); // as above
    for (const socket of [client, upstream]) {
      living.add(socket);
      socket.on('close', () => {
        living.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  }

  async function listen(at: number): Promise<number> {
    if (listening) return at;
    listening = createServer(take).listen(at, '127.0.0.1');
    await once(listening, 'listening');
    return (listening.address() as AddressInfo).port;
  }

  async function close(): Promise<void> {
    const closing = listening;
    listening = undefined;
    closing?.close();
    for (const socket of living) socket.resetAndDestroy();
    if (closing) await once(closing, 'close');
  }

  const port = await listen(0);
  const shut = async (how: Manner) => {
    manner = how;
    await close();
    if (how === 'reset') await listen(port);
  };
  await shut(first);
  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  url.searchParams.delete('host'); // a unix socket would bypass the gate
  return {
    url: url.toString(),
    get resets() {
      return resets;
    },
    async open() {
      manner = undefined;
      await listen(port);
    },
    shut,
    stop: close,
  };
}

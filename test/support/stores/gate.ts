/** A TCP address in front of a server that may be away: for those who connect it is shut until it is opened. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What comes of a connection while the gate is shut: nobody listens, or it is reset, as by a server that dies. */
export type Manner = 'refuse' | 'reset';

export interface Gate {
  /** The address of the server with that of the gate in its place. */
  url: string;
  /** Connections that were refused in the manner `reset`. */
  readonly resets: number;
  open(): Promise<void>;
  /** Cuts what is connected. */
  shut(manner: Manner): Promise<void>;
  stop(): Promise<void>;
}

/** @param target address of the server, as `redis://` or `postgres://`; its gate is shut */
export async function startGate(target: string, first: Manner = 'refuse'): Promise<Gate> {
  const server = new URL(target);
  const living = new Set<Socket>();
  let manner: Manner | undefined = first;
  let resets = 0;
  let listening: Server | undefined;

  function take(client: Socket): void {
    client.on('error', () => {}); // breaking is what it is for
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
  url.searchParams.delete('host'); // a socket would go past the gate
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

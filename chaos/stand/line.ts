/**
 * A line: a TCP proxy between one process and one server, which breaks as networks do.
 *
 * Guarantee: its address never changes, also when the server behind it moves. `heal` ends every fault of the line;
 * connections that fell silent stay silent until they are cut, as half-open ones do.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { delayLine } from '../../bench/testbed/proxy-line.ts';

export interface Line {
  port: number;
  /** Resets all connections. */
  cut(): void;
  /** Refuses new connections and resets the existing ones until `heal`. */
  shut(): void;
  /** No data passes any more on any connection, and none is closed, until `heal`. */
  silence(): void;
  /** Connections made from now on answer this much later, until `heal`. */
  delay(ms: number): void;
  heal(): void;
  /** Resets connections that fell silent. */
  cutSilent(): void;
  /** Whether the server sees one of its connections as coming from `port`. */
  isFrom(port: number): boolean;
  /** Resets that connection. */
  cutFrom(port: number): void;
  stop(): Promise<void>;
}

interface Pair {
  client: Socket;
  server?: Socket;
  silent: boolean;
}

type Manner = 'pass' | 'shut' | 'silent';

/** @param target the server's port now; read for each connection */
export async function openLine(target: () => number): Promise<Line> {
  const pairs = new Set<Pair>();
  let manner: Manner = 'pass';
  let delayMs = 0;

  const server = createServer({ noDelay: true }, (client) => {
    const pair: Pair = { client: quiet(client), silent: manner === 'silent' };
    if (manner === 'shut') return void client.resetAndDestroy();
    pairs.add(pair);
    client.on('close', () => {
      pairs.delete(pair);
      pair.server?.destroy();
    });
    if (!pair.silent) join(pair);
  });

  function join(pair: Pair): void {
    const upstream = quiet(connect({ port: target(), host: '127.0.0.1', noDelay: true }));
    pair.server = upstream;
    pair.client.pipe(upstream);
    if (delayMs > 0) upstream.pipe(delayLine(delayMs)).pipe(pair.client);
    else upstream.pipe(pair.client);
    upstream.on('close', () => pair.silent || pair.client.destroySoon());
  }
  const cut = (chosen: (pair: Pair) => boolean) => {
    for (const pair of [...pairs].filter(chosen)) {
      pair.client.resetAndDestroy();
      pair.server?.resetAndDestroy();
    }
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => cut(() => true),
    shut() {
      manner = 'shut';
      cut(() => true);
    },
    silence() {
      manner = 'silent';
      for (const pair of pairs) {
        pair.silent = true;
        for (const socket of [pair.client, pair.server]) socket?.unpipe().pause();
      }
    },
    delay(ms) {
      delayMs = ms;
    },
    heal() {
      manner = 'pass';
      delayMs = 0;
    },
    cutSilent: () => cut((pair) => pair.silent),
    isFrom: (port) => [...pairs].some((pair) => pair.server?.localPort === port),
    cutFrom: (port) => cut((pair) => pair.server?.localPort === port),
    async stop() {
      server.close();
      cut(() => true);
      await once(server, 'close');
    },
  };
}

function quiet(socket: Socket): Socket {
  return socket.on('error', () => {}); // broken connections are its purpose; 'close' follows
}

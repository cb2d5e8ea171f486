/** A DNS server on loopback that answers questions for TXT records (RFC 1035). */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface DnsServer {
  /** `address:port` */
  address: string;
  /** The names that were asked for, in lower case. */
  asked: string[];
  stop(): void;
}

const NO_SUCH_NAME = 3;

/** @param records the texts of each name; undefined: the server does not answer. Other names do not exist */
export async function startDns(records: Readonly<Record<string, readonly string[] | undefined>>): Promise<DnsServer> {
  const server = createSocket('udp4');
  const asked: string[] = [];
  server.on('message', (query, from) => {
    const name = nameIn(query);
    asked.push(name);
    const answer = answerTo(query, Object.hasOwn(records, name) ? [records[name]] : []);
    if (answer) server.send(answer, from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return { address: `127.0.0.1:${server.address().port}`, asked, stop: () => server.close() };
}

/** The name of the question (section 4.1.2). */
function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += 1 + (query[at] as number)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] as number)));
  }
  return labels.join('.').toLowerCase();
}

/** @param known one entry if the name exists: its texts, or undefined for no answer */
function answerTo(query: Buffer, known: (readonly string[] | undefined)[]): Buffer | undefined {
  const [texts] = known;
  if (known.length > 0 && texts === undefined) return undefined;
  const end = query.indexOf(0, 12) + 5;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180 + (known.length > 0 ? 0 : NO_SUCH_NAME), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(texts?.length ?? 0, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, query.subarray(12, end), ...(texts ?? []).map(recordOf)]);
}

/** A text of more than 255 bytes is several strings of one record (section 3.3.14). */
function recordOf(text: string): Buffer {
  const parts = text.match(/[\s\S]{1,255}/g) ?? [''];
  const data = Buffer.concat(
    parts.map((part) => Buffer.concat([Buffer.from([part.length]), Buffer.from(part, 'latin1')])),
  );
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  return Buffer.concat([Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60]), length, data]);
}

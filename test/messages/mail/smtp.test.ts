import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { openSmtp, SMTP_CONNECTIONS } from '../../../src/messages/mail/smtp.ts';
import { waitFor } from '../../support/wait.ts';

const REPLIES: Record<string, string> = { EHLO: '250 test', MAIL: '250 ok', RCPT: '250 ok', DATA: '354 go on' };

/** What a server does with the mails that it takes. */
interface Manners {
  /** Closes a connection at the command that begins its second mail. */
  forgets?: boolean;
  /** Answers no mail before `answer` is called for it. */
  holds?: boolean;
}

async function startServer({ forgets = false, holds = false }: Manners) {
  const taken: string[] = [];
  const held: (() => void)[] = [];
  async function serve(socket: Socket): Promise<void> {
    socket.write('220 test\r\n');
    let data: string[] | undefined;
    let isUsed = false;
    for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (data && line !== '.') {
        data.push(line);
        continue;
      }
      if (data) {
        taken.push(data.join('\n'));
        data = undefined;
        isUsed = true;
        const answer = () => void socket.write('250 taken\r\n');
        if (holds) held.push(answer);
        else answer();
        continue;
      }
      const command = line.slice(0, 4);
      if (command === 'MAIL' && isUsed && forgets) return void socket.destroy();
      if (command === 'DATA') data = [];
      socket.write(`${REPLIES[command] ?? '500 unknown'}\r\n`);
    }
  }
  const server = createServer((socket) => void serve(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { taken, server, url, answer: () => held.shift()?.() };
}

const mailOf = (id: string) => ({
  id,
  from: 'a@example.com',
  to: 'b@example.com',
  raw: Buffer.from(`mail ${id}\r\n.x\r\n`),
});

describe('the SMTP transport', () => {
  it('sends over another connection at once when the server has closed the idle one', async () => {
    const { taken, server, url } = await startServer({ forgets: true });
    const transport = openSmtp(url);
    for (const id of ['1', '2', '3']) assert.deepEqual(await transport.send(mailOf(id)), { sent: true });
    assert.deepEqual(
      taken,
      ['1', '2', '3'].map((id) => `mail ${id}\n..x`),
    );
    transport.close();
    server.close();
  });

  it('lets lines take turns, however many mails of one wait', async (t) => {
    const { taken, server, url, answer } = await startServer({ holds: true });
    const transport = openSmtp(url);
    t.after(() => {
      transport.close();
      server.close();
    });
    const sendOne = (id: string, line: string) => transport.send({ ...mailOf(id), line });
    const many = Array.from({ length: 4 * SMTP_CONNECTIONS }, (_, n) => sendOne(`${n}`, 'import 1'));
    await waitFor(() => taken.length === SMTP_CONNECTIONS, { what: 'a mail on each connection' });
    const code = sendOne('code', 'organization 1');
    const next = SMTP_CONNECTIONS + 2;
    for (const _ of [1, 2]) answer();
    await waitFor(() => taken.length === next, { what: 'the next mails' });
    const all = Promise.all([...many, code]);
    for (let answered = 2; answered < many.length + 1; answered++) {
      await waitFor(() => taken.length > answered || taken.length === many.length + 1, { what: 'another mail' });
      answer();
    }
    assert.ok((await all).every((result) => result.sent));
    assert.ok(taken.slice(0, next).some((mail) => mail.startsWith('mail code')));
  });

  it('refuses for good an address that would begin another command', async () => {
    const { taken, server, url } = await startServer({ forgets: true });
    const transport = openSmtp(url);
    for (const to of ['b@example.com>\r\nRCPT TO:<c@example.com', '']) {
      const result = await transport.send({ ...mailOf('1'), to });
      assert.ok(!result.sent && result.permanent, JSON.stringify(result));
    }
    assert.deepEqual(taken, []);
    transport.close();
    server.close();
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { openSmtp } from '../../../src/messages/mail/smtp.ts';

const REPLIES: Record<string, string> = { EHLO: '250 test', MAIL: '250 ok', RCPT: '250 ok', DATA: '354 go on' };

/** Takes one mail on each connection, and closes the connection at the command that begins the next one. */
async function startForgetful() {
  const taken: string[] = [];
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
        socket.write('250 taken\r\n');
        continue;
      }
      const command = line.slice(0, 4);
      if (command === 'MAIL' && isUsed) return void socket.destroy();
      if (command === 'DATA') data = [];
      socket.write(`${REPLIES[command] ?? '500 unknown'}\r\n`);
    }
  }
  const server = createServer((socket) => void serve(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { taken, server, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const mailOf = (id: string) => ({
  id,
  from: 'a@example.com',
  to: 'b@example.com',
  raw: Buffer.from(`mail ${id}\r\n.x\r\n`),
});

describe('the SMTP transport', () => {
  it('sends over another connection at once when the server has closed the idle one', async () => {
    const { taken, server, url } = await startForgetful();
    const transport = openSmtp(url);
    for (const id of ['1', '2', '3']) assert.deepEqual(await transport.send(mailOf(id)), { sent: true });
    assert.deepEqual(
      taken,
      ['1', '2', '3'].map((id) => `mail ${id}\n..x`),
    );
    transport.close();
    server.close();
  });

  it('refuses for good an address that would begin another command', async () => {
    const { taken, server, url } = await startForgetful();
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

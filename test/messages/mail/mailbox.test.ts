import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { mailboxFolder } from '../../../src/messages/mail/mailbox.ts';
import { openTextTransport, openTransport } from '../../../src/messages/mail/open-transport.ts';
import { listMailbox, readMailboxEntry } from '../../../src/messages/mail/read-mailbox.ts';

describe('the local mailbox', () => {
  let dataDir: string;
  const mail = (id: string, text: string) => ({ id, from: 'a@b.c', to: 'd@e.f', raw: Buffer.from(text) });

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-mailbox-'));
  });
  after(() => rm(dataDir, { recursive: true }));

  it('stores each mail as a file that only our system user can read', async () => {
    const transport = openTransport({ DATA_DIR: dataDir });
    const folder = mailboxFolder({ DATA_DIR: dataDir });
    assert.deepEqual(await transport.send(mail('7', 'once')), { sent: true });
    assert.deepEqual(await transport.send(mail('12', 'other')), { sent: true });
    assert.deepEqual(await transport.send(mail('7', 'again')), { sent: true });
    assert.deepEqual((await readdir(folder)).sort(), ['mail-00000007.eml', 'mail-00000012.eml']);
    assert.equal(await readFile(join(folder, 'mail-00000007.eml'), 'utf8'), 'again');
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, 'mail-00000007.eml'))).mode & 0o777, 0o600);
  });

  it('stores text messages in the same folder, as plain text', async () => {
    const transport = openTextTransport({ DATA_DIR: dataDir });
    const message = { id: '9', key: 'text.9', to: '+41791234567', text: 'Žofie, the code' };
    assert.deepEqual(await transport.send(message), { sent: true });
    const file = join(mailboxFolder({ DATA_DIR: dataDir }), 'sms-00000009.txt');
    assert.equal(await readFile(file, 'utf8'), 'To: +41791234567\n\nŽofie, the code\n');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  it('removes the drafts of crashed processes, but not one in progress', async () => {
    const own = join(dataDir, 'crashed');
    const folder = mailboxFolder({ DATA_DIR: own });
    await mkdir(folder, { recursive: true });
    for (const name of ['mail-00000001.eml.1.tmp', 'mail-00000002.eml.2.tmp', 'kept.eml']) {
      await writeFile(join(folder, name), '');
      if (!name.includes('2.tmp')) await utimes(join(folder, name), 0, 0);
    }
    assert.deepEqual(await openTransport({ DATA_DIR: own }).send(mail('3', 'x')), { sent: true });
    assert.deepEqual((await readdir(folder)).sort(), ['kept.eml', 'mail-00000002.eml.2.tmp', 'mail-00000003.eml']);
  });

  it('creates its folder again when somebody has removed it', async () => {
    const transport = openTransport({ DATA_DIR: dataDir });
    const folder = mailboxFolder({ DATA_DIR: dataDir });
    await transport.send(mail('1', 'x'));
    await rm(folder, { recursive: true });
    const lost = await transport.send(mail('2', 'x'));
    assert.deepEqual(lost, { sent: false, permanent: false, reason: 'local mailbox: ENOENT' });
    assert.deepEqual(await transport.send(mail('2', 'x')), { sent: true });
  });

  it('reports a problem with its folder as temporary', async () => {
    const file = join(dataDir, 'file');
    await writeFile(file, '');
    const result = await openTransport({ DATA_DIR: file }).send(mail('1', 'x'));
    assert.deepEqual(result, { sent: false, permanent: false, reason: 'local mailbox: ENOTDIR' });
  });

  it('is read newest first, page by page, and nothing outside it', async () => {
    const own = join(dataDir, 'read');
    const folder = mailboxFolder({ DATA_DIR: own });
    assert.deepEqual(await listMailbox(folder, 2), { entries: [], next: undefined }, 'before the first mail');
    const transport = openTransport({ DATA_DIR: own });
    for (const id of ['9', '100000001', '10', '123', '99999999']) {
      const head = `To: Ann <${id}@example.com>\r\nSubject: =?utf-8?Q?=C5=BD${id}?=\r\nDate: Mon, 23 Nov 2026 10:00:00 +0000`;
      await transport.send(mail(id, `${head}\r\n\r\nHello ${id}`));
    }
    await openTextTransport({ DATA_DIR: own }).send({
      id: '11',
      key: 'k',
      to: '+41791234567',
      text: 'Your code\n\nis 1',
    });
    await writeFile(join(folder, 'notes.txt'), 'not a mail');
    await writeFile(join(own, 'mail-00000001.eml'), 'outside');
    const seen: string[] = [];
    let next: number | undefined;
    do {
      const page = await listMailbox(folder, 2, next);
      assert(page.entries.length === 2);
      seen.push(...page.entries.map(({ to }) => to));
      next = page.next;
    } while (next !== undefined);
    const people = ['100000001', '99999999', '123', '11', '10', '9'];
    assert.deepEqual(
      seen,
      people.map((id) => (id === '11' ? '+41791234567' : `${id}@example.com`)),
    );
    assert.deepEqual(await readMailboxEntry(folder, 'mail-00000123.eml'), {
      name: 'mail-00000123.eml',
      to: '123@example.com',
      subject: 'Ž123',
      at: '2026-11-23T10:00:00.000Z',
      text: 'Hello 123\n',
      html: undefined,
    });
    assert.equal((await readMailboxEntry(folder, 'sms-00000011.txt'))?.text, 'Your code\n\nis 1');
    for (const name of ['mail-00000124.eml', 'notes.txt', '../mail-00000001.eml', 'mail-00000123.eml/../notes.txt']) {
      assert.equal(await readMailboxEntry(folder, name), undefined, name);
    }
  });
});

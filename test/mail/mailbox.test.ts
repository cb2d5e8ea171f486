import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { mailboxFolder } from '../../src/mail/mailbox-folder.ts';
import { openTextTransport, openTransport } from '../../src/mail/open-transport.ts';

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
});

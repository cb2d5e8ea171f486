/**
 * The local mailbox, for mails and text messages when no server for them is set: every mail is a file that any mail
 * program can open, every text message a plain text file.
 *
 * Guarantee: a file is complete or absent, and a mail delivered twice is one file. The files hold codes, so only our
 * own system user can read them.
 *
 * On crash: a `.tmp` file may remain; the next delivery of that mail writes the complete file, and the next process
 * removes the other.
 */
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../platform/config.ts';
import type { SendResult, TextTransport, Transport } from './message.ts';

/** The folder of the local mailbox. */
export function mailboxFolder(config: Pick<Config, 'DATA_DIR'>): string {
  return join(config.DATA_DIR, 'mailbox');
}

const DRAFT_MS = 60_000;

/** @param folder created with the first mail */
export function openMailbox(folder: string): Transport {
  const keep = keeper(folder);
  return {
    send: (mail) => keep(mailFileName(mail.id), mail.raw),
    close() {},
  };
}

/** The local mailbox for text messages. @param folder created with the first message */
export function openTextMailbox(folder: string): TextTransport {
  const keep = keeper(folder);
  return { send: ({ id, to, text }) => keep(textFileName(id), `To: ${to}\n\n${text}\n`) };
}

/** The file name of a mail; names sort in the order of the outbox. */
function mailFileName(outboxId: string): string {
  return `mail-${outboxId.padStart(8, '0')}.eml`;
}

function textFileName(outboxId: string): string {
  return `sms-${outboxId.padStart(8, '0')}.txt`;
}

function keeper(folder: string): (name: string, content: string | Buffer) => Promise<SendResult> {
  let made: Promise<unknown> | undefined;
  return async (name, content) => {
    try {
      made ??= openFolder(folder);
      await made;
      await put(join(folder, name), content);
      return { sent: true };
    } catch (error) {
      // Somebody may have removed the folder; the next mail creates it again.
      made = undefined;
      return { sent: false, permanent: false, reason: `local mailbox: ${(error as NodeJS.ErrnoException).code}` };
    }
  };
}

/** Creates the folder, and removes what crashed processes left in it. */
async function openFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const drafts = (await readdir(folder)).filter((name) => name.endsWith('.tmp')).map((name) => join(folder, name));
  await Promise.all(drafts.map(removeOld));
}

/** A draft is renamed within milliseconds; a young one may be in progress in another process. */
async function removeOld(draft: string): Promise<void> {
  const found = await stat(draft).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error; // renamed meanwhile
  });
  if (found && Date.now() - found.mtimeMs > DRAFT_MS) await rm(draft, { force: true });
}

async function put(file: string, content: string | Buffer): Promise<void> {
  // Two processes may deliver the same mail at once; each writes a draft of its own.
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, file);
}

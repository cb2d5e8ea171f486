/**
 * The local mailbox: every mail is a file that any mail program opens.
 *
 * Guarantee: a file is whole or absent, and a mail that is delivered twice is one file. The files hold codes, so only
 * our own user may read them. If we die here a `.tmp` file stays, which the next delivery of that mail replaces.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ComposedMail } from './compose.ts';
import type { SendResult, Transport } from './transport.ts';

/** @param folder made when the first mail comes */
export function openMailbox(folder: string): Transport {
  let made: Promise<unknown> | undefined;
  return {
    async send(mail): Promise<SendResult> {
      try {
        made ??= mkdir(folder, { recursive: true, mode: 0o700 });
        await made;
        await put(folder, mail);
        return { sent: true };
      } catch (error) {
        // Somebody may have removed the folder; the next mail makes it again.
        made = undefined;
        return { sent: false, permanent: false, reason: `local mailbox: ${(error as NodeJS.ErrnoException).code}` };
      }
    },
    close() {},
  };
}

/** The file name of a mail: in the order of the outbox. */
export function mailFileName(outboxId: string): string {
  return `mail-${outboxId.padStart(8, '0')}.eml`;
}

async function put(folder: string, mail: ComposedMail): Promise<void> {
  const file = join(folder, mailFileName(mail.id));
  // Two processes may deliver the same mail at once; each writes its own.
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, mail.raw, { mode: 0o600 });
  await rename(draft, file);
}

/** The ceiling of `mail`: nodemailer alone, with the relay's pool settings, sends the same mail to many users. */
import { createTransport } from 'nodemailer';
import { SMTP_CONNECTIONS } from '../../src/messages/mail/smtp.ts';
import type { Scope } from '../scope.ts';
import { user } from '../testbed/load.ts';

/** As many as the relay sends at once. */
const AT_ONCE = 32;
const SENDER = 'no-reply@localhost';

/** Sends `raw` to the users 0 … `mails - 1`. */
export async function sendBare(scope: Scope, url: string, mails: number, raw: Buffer): Promise<void> {
  const transporter = await scope.start(
    async () => createTransport({ url, pool: true, maxConnections: SMTP_CONNECTIONS, maxMessages: 1000 }),
    async (opened) => opened.close(),
  );
  let n = 0;
  const send = async () => {
    while (n < mails) await transporter.sendMail({ envelope: { from: SENDER, to: [user(n++).email.email] }, raw });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
}

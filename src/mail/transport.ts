/**
 * Where mails go: a mail server (SMTP_URL), or files in DATA_DIR/mailbox.
 *
 * Guarantee: `send` never throws; it says whether the mail was taken and, if not, whether trying again can help.
 */
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { ComposedMail } from './compose.ts';
import { openMailbox } from './mailbox.ts';
import { openSmtp } from './smtp.ts';

export type SendResult = { sent: true } | { sent: false; permanent: boolean; reason: string };

export interface Transport {
  send(mail: ComposedMail): Promise<SendResult>;
  /** Call it when no `send` is under way. */
  close(): void;
}

/** The transport that the configuration asks for. Nothing is connected or written before the first mail. */
export function openTransport(config: Pick<Config, 'SMTP_URL' | 'DATA_DIR'>): Transport {
  return config.SMTP_URL ? openSmtp(config.SMTP_URL) : openMailbox(mailboxFolder(config));
}

/** The folder of the local mailbox. */
export function mailboxFolder(config: Pick<Config, 'DATA_DIR'>): string {
  return join(config.DATA_DIR, 'mailbox');
}

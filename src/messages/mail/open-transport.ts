/**
 * Chooses the transports. Emails go to a mail server (SMTP_URL) or to files in DATA_DIR/mailbox; text messages go to a
 * gateway (SMS_URL) or to files in the same folder.
 */
import type { Config } from '../../platform/config.ts';
import { mailboxFolder, openMailbox, openTextMailbox } from './mailbox.ts';
import type { TextTransport, Transport } from './message.ts';
import { openSmsGateway } from './sms-gateway.ts';
import { openSmtp } from './smtp.ts';

/** Opens the configured transport. Nothing is connected or written before the first mail. */
export function openTransport(config: Pick<Config, 'SMTP_URL' | 'DATA_DIR'>): Transport {
  return config.SMTP_URL ? openSmtp(config.SMTP_URL) : openMailbox(mailboxFolder(config));
}

/** Opens the configured transport of text messages. Nothing is connected or written before the first message. */
export function openTextTransport(config: Pick<Config, 'SMS_URL' | 'DATA_DIR'>): TextTransport {
  return config.SMS_URL ? openSmsGateway(config.SMS_URL) : openTextMailbox(mailboxFolder(config));
}

/**
 * Where mails and text messages are kept when no server for them is set. In a file of its own, as the start of the
 * service needs only this part of the mail code.
 */
import { join } from 'node:path';
import type { Config } from '../../config.ts';

/** The folder of the local mailbox. */
export function mailboxFolder(config: Pick<Config, 'DATA_DIR'>): string {
  return join(config.DATA_DIR, 'mailbox');
}

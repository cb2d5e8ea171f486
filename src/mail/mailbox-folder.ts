/** Where mails and text messages are kept without a server for them. In its own file, as the start needs nothing else of mails. */
import { join } from 'node:path';
import type { Config } from '../config.ts';

/** The folder of the local mailbox. */
export function mailboxFolder(config: Pick<Config, 'DATA_DIR'>): string {
  return join(config.DATA_DIR, 'mailbox');
}

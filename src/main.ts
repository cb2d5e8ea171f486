/**
 * `npm start`: all of Muster in the foreground, with a few lines for the person who starts it.
 */
import { type Config, readConfig } from './platform/config.ts';
import { runWith } from './platform/lifecycle.ts';
import { type Muster, mailboxOf, startMuster } from './start/muster.ts';

/** The API drains, then the workers, then PostgreSQL shuts down. */
const STOP_MARGIN_MS = 120_000;

runWith(
  'muster',
  readConfig,
  async (config, logger) => {
    const muster = await startMuster(config, { logger, onToken: printToken });
    if (!config.QUIET) printBanner(config, muster);
    return muster;
  },
  STOP_MARGIN_MS,
);

function printToken(token: string): void {
  console.log(`\nToken of the first administrator, shown only once:\n  ${token}\n`);
}

function printBanner(config: Config, muster: Muster): void {
  const lines = [
    `\nMuster is ready: ${muster.baseUrl}`,
    `  database  ${config.DATABASE_URL ? 'PostgreSQL of DATABASE_URL' : `embedded PostgreSQL in ${config.DATA_DIR}`}`,
    `  queue     ${config.REDIS_URL ? 'BullMQ on Redis' : 'BullMQ on PostgreSQL (REDIS_URL is not set)'}`,
    `  mails     ${config.SMTP_URL ? `SMTP to ${new URL(config.SMTP_URL).host}` : `files in ${mailboxOf(config)} (SMTP_URL is not set)`}`,
    `  workers   ${config.WORKERS}\n`,
  ];
  console.log(lines.join('\n'));
}

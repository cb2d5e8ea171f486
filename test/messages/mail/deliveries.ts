/** What the tests of deliveries share: a database, an SMTP server, and a delivery over both. */
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach } from 'node:test';
import pino from 'pino';
import {
  type BatchCommitter,
  type DeliverDeps,
  type Delivery,
  deliverMail,
  openBatchCommitter,
  openBatchLoader,
} from '../../../src/messages/mail/deliver.ts';
import type { Transport } from '../../../src/messages/mail/message.ts';
import type { MailPointer } from '../../../src/messages/mail/outbox.ts';
import { recordDeliveries } from '../../../src/messages/mail/relay.ts';
import { openSmsGateway } from '../../../src/messages/mail/sms-gateway.ts';
import { openSmtp } from '../../../src/messages/mail/smtp.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { openRedeliveryRisk } from '../../../workers/mailer.ts';
import { type SmtpCatcher, startSmtp } from '../../support/smtp.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { addOrg } from './rows.ts';

export interface Deliveries {
  db: TestDatabase;
  smtp: SmtpCatcher;
  transport: Transport;
  settler(): BatchCommitter;
  run(pointer: MailPointer, changes?: Partial<DeliverDeps>): Promise<Delivery>;
  /** Runs the job of that attempt, as the queue does. */
  deliver(id: string, attempt?: number, changes?: Partial<DeliverDeps>): Promise<Delivery>;
}

export const secrets = openSecrets(randomBytes(32).toString('base64'));
export const services = {
  secrets,
  config: {
    baseUrl: 'https://id.example.org',
    MAIL_FROM: 'Muster <no-reply@id.example.org>',
    SMS_PER_DAY: 0,
    CODE_TTL_MS: 259_200_000,
    RESET_CODE_TTL_MS: 3_600_000,
  },
  texts: openSmsGateway('http://127.0.0.1:1'),
  logger: pino({ level: 'silent' }),
  risk: openRedeliveryRisk({ since: () => false }),
};

/**
 * Starts them before the tests of the calling suite, and empties them before each test.
 * @param name of the database
 */
export function useDeliveries(name: string): Deliveries {
  const settler = () => openBatchCommitter((group) => recordDeliveries(at.db.pool, group));
  const run = (pointer: MailPointer, changes: Partial<DeliverDeps> = {}) => {
    const { pool } = at.db;
    const deps = { ...services, pool, transport: at.transport, settler: settler(), loader: openBatchLoader(pool) };
    return deliverMail({ ...deps, ...changes }, pointer);
  };
  const at = {
    settler,
    run,
    deliver: (id: string, attempt = 0, changes: Partial<DeliverDeps> = {}) => run({ id, attempt }, changes),
  } as Deliveries;
  before(async () => {
    at.db = await testDatabase({ name });
    await addOrg(at.db.pool, 'Příliš & Co');
    at.smtp = await startSmtp();
    at.transport = openSmtp(at.smtp.url);
  });
  beforeEach(async () => {
    await at.db.pool.query('delete from users');
    await at.db.pool.query('delete from imports');
    at.smtp.mails.length = 0;
    at.smtp.refuse({ after: 'DATA', code: 451, times: 0 });
  });
  after(async () => {
    at.transport.close();
    await at.smtp.stop();
    await at.db.drop();
  });
  return at;
}

/** Mails: how this process sends them, and how many are pending or failed. */
import type { Db } from '../db/pool.ts';
import { type SmtpAnswer, verifySmtp } from '../mail/verify-smtp.ts';

export interface MailFacts {
  transport: 'smtp' | 'files';
  /** Absent when mails are kept as files. */
  smtp?: SmtpAnswer;
  /** Pending and failed mails are each counted up to MOST. */
  pending: number;
  failedLastWeek: number;
}

/** Counting stops here: a larger number would say no more than "very many". */
const MOST = 100_000;

export async function mailFacts(db: Db, smtpUrl: string | undefined): Promise<MailFacts> {
  const [smtp, pending, failedLastWeek] = await Promise.all([
    smtpUrl === undefined ? undefined : verifySmtp(smtpUrl),
    count(db, `state = 'pending'`),
    count(db, `state = 'failed' and settled_at > now() - interval '7 days'`),
  ]);
  return { transport: smtp ? 'smtp' : 'files', ...(smtp ? { smtp } : {}), pending, failedLastWeek };
}

async function count(db: Db, condition: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (select from mail_outbox where ${condition} limit ${MOST}) as r`,
  );
  return rows[0]?.n ?? 0;
}

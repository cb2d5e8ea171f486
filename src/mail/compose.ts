/**
 * Turns the content of an email into the bytes of a message (RFC 5322, MIME).
 *
 * Guarantee: the same outbox row gives the same bytes, including headers and boundaries, so that providers recognise a
 * second delivery as a duplicate.
 */
import { createHash } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import MailComposer from 'nodemailer/lib/mail-composer';
import { harmless, type MailContent } from './templates.ts';

/** A message and its envelope, ready for any transport. */
export interface ComposedMail {
  /** Outbox id. */
  id: string;
  from: string;
  to: string;
  raw: Buffer;
}

export interface Addressing {
  id: string;
  /** When the email was queued; its Date header. */
  createdAt: Date;
  /** `Name <address>`. */
  from: string;
  toName: string;
  toAddress: string;
}

/** @throws Error when the addresses give no valid envelope */
export async function composeMail(address: Addressing, content: MailContent): Promise<ComposedMail> {
  const messageId = messageIdOf(address);
  const message = new MailComposer({
    from: address.from,
    to: { name: harmless(address.toName), address: address.toAddress },
    subject: content.subject,
    text: textPart(content.text),
    html: content.html,
    date: address.createdAt,
    messageId,
    baseBoundary: createHash('sha256').update(messageId).digest('hex').slice(0, 16),
    headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': 'en' },
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const { from, to } = message.getEnvelope();
  if (!from || to.length !== 1) throw new Error('The addresses of the email give no valid envelope.');
  return { id: address.id, from, to: to[0] as string, raw: await message.build() };
}

/** Contains the time, as outbox ids restart in a new database and providers drop a Message-ID that they have seen. */
function messageIdOf({ id, createdAt, from }: Addressing): string {
  const sender = addressparser(from, { flatten: true })[0]?.address ?? '';
  const domain = sender.slice(sender.lastIndexOf('@') + 1) || 'localhost';
  return `<mail.${id}.${createdAt.getTime().toString(36)}@${domain}>`;
}

/** Keeps plain ASCII, including the link, readable in the raw message: nodemailer breaks lines over 76 characters. */
function textPart(text: string): string | { raw: string } {
  if (!/^[\x20-\x7e\n]*$/.test(text) || text.split('\n').some((line) => line.length > 990)) return text;
  const head = 'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 7bit\n\n';
  return { raw: `${head}${text}`.replaceAll('\n', '\r\n') };
}

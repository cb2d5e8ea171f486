/**
 * Turns the content of an email into the bytes of a message (RFC 5322, MIME).
 *
 * Guarantee: the same input gives the same bytes, including headers and boundaries, and an outbox row always has the same
 * Message-ID, so that providers recognise a second delivery as a duplicate.
 */
import { createHash } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import MimeNode from 'nodemailer/lib/mime-node';
import { readablePart, textPart, withCrlf } from './mime-parts.ts';
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

/**
 * Joins the parts itself: nodemailer's `build` passes each part through several streams, which takes most of the time.
 * @throws Error when the addresses give no valid envelope
 */
export function composeMail(address: Addressing, content: MailContent): ComposedMail {
  const sender = addressparser(address.from, { flatten: true });
  const messageId = messageIdOf(address, sender[0]?.address ?? '');
  const baseBoundary = createHash('sha256').update(messageId).digest('hex').slice(0, 16);
  const message = new MimeNode('multipart/alternative', { baseBoundary });
  message.addHeader({ 'Auto-Submitted': 'auto-generated', 'Content-Language': 'en' });
  message.setHeader('from', sender);
  message.setHeader('to', { name: harmless(address.toName), address: address.toAddress });
  message.setHeader('subject', content.subject);
  message.setHeader('message-id', messageId);
  message.setHeader('date', address.createdAt);
  const { from, to } = message.getEnvelope();
  if (!from || to.length !== 1) throw new Error('The addresses of the email give no valid envelope.');
  const headers = message.buildHeaders();
  const text = readablePart(content.text) ?? textPart('text/plain', content.text);
  const parts = [text, textPart('text/html', content.html)];
  const body = parts.map((part) => `--${message.boundary}\r\n${part}`).join('\r\n');
  const raw = Buffer.from(withCrlf(`${headers}\r\n\r\n${body}\r\n--${message.boundary}--\r\n`));
  return { id: address.id, from, to: to[0] as string, raw };
}

/** Contains the time, as outbox ids restart in a new database and providers drop a Message-ID that they have seen. */
function messageIdOf({ id, createdAt }: Addressing, sender: string): string {
  const domain = sender.slice(sender.lastIndexOf('@') + 1) || 'localhost';
  return `<mail.${id}.${createdAt.getTime().toString(36)}@${domain}>`;
}

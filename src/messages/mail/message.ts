/**
 * A message as bytes (RFC 5322, MIME), and the interface of the transports that deliver it.
 *
 * Guarantee: the same content gives the same bytes, including headers and boundaries, and an outbox row always has the
 * same Message-ID, so that providers recognise a second delivery as a duplicate.
 */
import { createHash } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import { encode as base64, wrap as wrapBase64 } from 'nodemailer/lib/base64';
import MimeNode from 'nodemailer/lib/mime-node';
import { wrap as wrapQuoted } from 'nodemailer/lib/qp';
import { harmless, type MailContent } from './layout.ts';
import type { TextMessage } from './texts.ts';

/** Whether the message was accepted and, if not, whether a retry can help. */
export type SendResult = { sent: true } | { sent: false; permanent: boolean; reason: string };

/** Delivers emails; `open-transport.ts` chooses the implementation. `send` throws only what `mayBegin` throws. */
export interface Transport {
  /**
   * @param mayBegin asked when the mail would go out at once, after any wait for a connection; if it says no, the mail
   *   is not sent. A transport for which a second delivery makes no difference need not ask.
   */
  send(mail: ComposedMail, mayBegin?: () => Promise<boolean>): Promise<SendResult>;
  /** Call it when no `send` is in progress. */
  close(): void;
}

/** Delivers text messages. It keeps nothing open, so there is nothing to close. */
export interface TextTransport {
  send(message: TextMessage): Promise<SendResult>;
}

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
  /** In place of the name of `from`; the address stays. */
  fromName?: string | undefined;
  toName: string;
  toAddress: string;
}

/**
 * Turns the content of an email into a message. Joins the parts itself: nodemailer's `build` passes each part through
 * several streams, which takes most of the time.
 * @throws Error when the addresses give no valid envelope
 */
export function composeMail(address: Addressing, content: MailContent): ComposedMail {
  const sender = addressparser(address.from, { flatten: true });
  if (address.fromName !== undefined && sender[0]) sender[0].name = harmless(address.fromName);
  const messageId = messageIdOf(address, sender[0]?.address ?? '');
  const baseBoundary = createHash('sha256').update(messageId).digest('hex').slice(0, 16);
  const message = new MimeNode('multipart/alternative', { baseBoundary });
  message.addHeader({ 'Auto-Submitted': 'auto-generated', 'Content-Language': content.language });
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

/**
 * The Message-ID contains the time, as outbox ids restart in a new database and providers drop an id that they have
 * seen.
 */
function messageIdOf({ id, createdAt }: Addressing, sender: string): string {
  const domain = sender.slice(sender.lastIndexOf('@') + 1) || 'localhost';
  return `<mail.${id}.${createdAt.getTime().toString(36)}@${domain}>`;
}

/** A part as text (RFC 2045), in the encoding that suits its content; nodemailer chooses the encoding and encodes. */
export function textPart(type: 'text/plain' | 'text/html', content: string): string {
  const encoding = new MimeNode(type).setContent(content).getTransferEncoding() || '7bit';
  return part(type, encoding, encoded(content, encoding));
}

/**
 * A part of plain ASCII without encoding, so that the link stays readable in the raw message: nodemailer would break
 * lines over 76 characters. Undefined for other text, and for lines that are too long for SMTP.
 */
export function readablePart(text: string): string | undefined {
  if (!/^[\x20-\x7e\n]*$/.test(text) || text.split('\n').some((line) => line.length > 990)) return undefined;
  return part('text/plain', '7bit', text);
}

/** The text with CRLF at the end of each line. */
export function withCrlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}

function part(type: string, encoding: string, body: string): string {
  return `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`;
}

function encoded(content: string, encoding: string): string {
  if (encoding === 'quoted-printable') return wrapQuoted(quoted(content));
  return encoding === 'base64' ? wrapBase64(base64(content)) : content;
}

/**
 * Quoted-printable (RFC 2045 section 6.7), before its lines are broken. nodemailer's encoder looks at each byte, which
 * takes as long as all the rest of a message.
 */
function quoted(content: string): string {
  return content.replace(/=|[^\t\n\r\x20-\x7e]+|[ \t](?=[\r\n]|$)/g, (part) => {
    if (part === '=') return '=3D';
    return Buffer.from(part).toString('hex').toUpperCase().replace(/../g, '=$&');
  });
}

/**
 * A message as bytes (RFC 5322, MIME), and the interface of the transports that deliver it.
 *
 * Guarantee: the same content gives the same bytes, including headers and boundaries, and an outbox row always has the
 * same Message-ID, so that providers recognise a second delivery as a duplicate.
 */
import { hash } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import { encode as base64, wrap as wrapBase64 } from 'nodemailer/lib/base64';
import { foldLines } from 'nodemailer/lib/mime-funcs';
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
  /** Mails of one line wait for each other; a line with few mails does not wait behind those of another. */
  line?: string;
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
 * Turns the content of an email into a message. Joins the headers and the parts itself, and has nodemailer encode the
 * values: its `build` passes each part through several streams, and its headers look at their names many times, which
 * takes most of the time.
 * @throws Error when the addresses give no valid envelope
 */
export function composeMail(address: Addressing, content: MailContent): ComposedMail {
  const from = senderOf(address.from, address.fromName);
  const to = recipientOf(address);
  if (!from.address || !to.address) throw new Error('The addresses of the email give no valid envelope.');
  const messageId = messageIdOf(address, from.given);
  const boundary = `--_NmP-${hash('sha256', messageId, 'hex').slice(0, 16)}-Part_1`;
  const headers = [
    'Auto-Submitted: auto-generated',
    `Content-Language: ${content.language}`,
    from.header,
    to.header,
    encodedHeader('Subject', content.subject),
    encodedHeader('Message-ID', messageId),
    `Date: ${address.createdAt.toUTCString().replace('GMT', '+0000')}`,
    'MIME-Version: 1.0',
    header('Content-Type', `multipart/alternative; boundary="${boundary}"`),
  ];
  const text = readablePart(content.text) ?? textPart('text/plain', content.text);
  const parts = [text, textPart('text/html', content.html)].map((part) => `--${boundary}\r\n${part}`);
  const raw = withCrlf([...headers, '', ...parts, `--${boundary}--\r\n`].filter(isThere).join('\r\n'));
  return { id: address.id, from: from.address, to: to.address, raw: Buffer.from(raw) };
}

/** Encodes values of headers; it has none of its own. */
const VALUES = new MimeNode();

/** A header, whose lines are broken where they may be (RFC 5322 section 2.2.3); undefined without a value. */
function header(name: string, value: string): string | undefined {
  return value.trim() === '' ? undefined : foldLines(`${name}: ${value}`, 76);
}

function encodedHeader(name: string, value: Parameters<MimeNode['encodeHeaderValue']>[1]): string | undefined {
  return header(name, VALUES.encodeHeaderValue(name, value));
}

function isThere(line: string | undefined): line is string {
  return line !== undefined;
}

/** An address of the envelope, and the header that names it. */
interface Party {
  address: string;
  header: string | undefined;
}

interface Sender extends Party {
  /** The address as the settings have it. */
  given: string;
}

/** Organizations send many mails under one name. */
const senders = new Map<string, Sender>();
const MOST_SENDERS = 1000;

function senderOf(from: string, name: string | undefined): Sender {
  const key = JSON.stringify([from, name]);
  const known = senders.get(key);
  if (known) return known;
  const parsed = addressparser(from, { flatten: true });
  if (name !== undefined && parsed[0]) parsed[0].name = harmless(name);
  const address = new MimeNode().setHeader('from', parsed).getEnvelope().from || '';
  const sender = { address, header: encodedHeader('From', parsed), given: parsed[0]?.address ?? '' };
  if (senders.size >= MOST_SENDERS) senders.clear();
  senders.set(key, sender);
  return sender;
}

function recipientOf({ toName, toAddress }: Addressing): Party {
  // Without a name, an address that is not plain is in angle brackets, which it cannot contain.
  const bare = VALUES.encodeHeaderValue('To', { name: '', address: toAddress });
  const address = bare.startsWith('<') ? bare.slice(1, -1) : bare;
  const name = harmless(toName);
  return { address, header: name === '' ? header('To', bare) : encodedHeader('To', { name, address }) };
}

/**
 * The Message-ID contains the time, as outbox ids restart in a new database and providers drop an id that they have
 * seen.
 */
function messageIdOf({ id, createdAt }: Addressing, sender: string): string {
  const domain = sender.slice(sender.lastIndexOf('@') + 1) || 'localhost';
  return `<mail.${id}.${createdAt.getTime().toString(36)}@${domain}>`;
}

/** A part as text (RFC 2045), in the encoding that suits its content, which nodemailer would choose too. */
export function textPart(type: 'text/plain' | 'text/html', content: string): string {
  const encoding = encodingFor(content);
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

type Encoding = '7bit' | 'quoted-printable' | 'base64';

/** Lines of more than 76 characters are broken, which only an encoding allows. */
const LONG_LINE = /^.{77}/m;

/** In quoted-printable, letters of the Latin alphabet stay as they are. */
function encodingFor(content: string): Encoding {
  let letters = 0;
  let others = 0;
  for (let i = 0; i < content.length; i++) {
    const kind = KINDS[content.charCodeAt(i)] ?? ENCODED;
    if (kind === LETTER) letters++;
    else if (kind === ENCODED) others++;
  }
  if (others === 0 && !LONG_LINE.test(content)) return '7bit';
  return others < letters ? 'quoted-printable' : 'base64';
}

const LETTER = 1;
const ENCODED = 2;
/** Of each character of ASCII; others are encoded. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (/[a-z]/i.test(char)) return LETTER;
  return /[\t\n\r\x20-\x7f]/.test(char) ? 0 : ENCODED;
});

function encoded(content: string, encoding: Encoding): string {
  if (encoding === 'quoted-printable') return wrapQuoted(quoted(content));
  return encoding === 'base64' ? wrapBase64(base64(content)) : content;
}

/**
 * Quoted-printable (RFC 2045 section 6.7), before its lines are broken. nodemailer's encoder looks at each byte, which
 * takes as long as all the rest of a message.
 */
function quoted(content: string): string {
  const escaped = content.replaceAll('=', '=3D').replace(/[^\t\n\r\x20-\x7e]+/g, hex);
  return /[ \t](?:[\r\n]|$)/.test(escaped) ? escaped.replace(/[ \t](?=[\r\n]|$)/g, hex) : escaped;
}

/** Bytes as `=C5`. */
function hex(part: string): string {
  return encodeURIComponent(part.toWellFormed()).replaceAll('%', '=');
}

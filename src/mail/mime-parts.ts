/**
 * The parts of a message as text: headers, an empty line and the encoded content (RFC 2045). nodemailer chooses the encoding
 * and encodes.
 */
import { encode as base64, wrap as wrapBase64 } from 'nodemailer/lib/base64';
import MimeNode from 'nodemailer/lib/mime-node';
import { encode as quoted, wrap as wrapQuoted } from 'nodemailer/lib/qp';

/** A part in the encoding that suits its content. */
export function textPart(type: 'text/plain' | 'text/html', content: string): string {
  const encoding = new MimeNode(type).setContent(content).getTransferEncoding() || '7bit';
  return part(type, encoding, encoded(content, encoding));
}

/**
 * Plain ASCII without encoding, so that the link stays readable in the raw message: nodemailer would break lines over 76
 * characters. Undefined for other text, and for lines that are too long for SMTP.
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

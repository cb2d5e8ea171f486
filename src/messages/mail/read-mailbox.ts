/**
 * Reads the local mailbox: the newest mails and text messages, and one of them.
 *
 * Guarantee: bounded memory, whatever the number of files. Only files that the mailbox wrote are read: a name that is
 * not one of its own is refused, so no path leads out of the folder.
 */
import { open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';

/** `mail-00000012.eml`, `sms-00000012.txt`. */
const NAME = /^(?:mail-(\d{8,15})\.eml|sms-(\d{8,15})\.txt)$/;
/** Mails of the service have some kilobytes. Of a larger file, the beginning is read. */
const MAX_BYTES = 512 * 1024;

export interface MailboxEntry {
  /** The name of its file. */
  name: string;
  to: string;
  /** Empty for a text message. */
  subject: string;
  /** RFC 3339; when the mail was queued. Undefined for a text message. */
  at: string | undefined;
  text: string;
  /** Undefined for a text message. */
  html: string | undefined;
}

export interface MailboxPage {
  entries: MailboxEntry[];
  /** Begins the next page; undefined on the last one. */
  next: number | undefined;
}

/**
 * @param before only entries with a smaller number, which is their place in the outbox
 * @returns the newest entries first; none if there is no folder
 */
export async function listMailbox(
  folder: string,
  size: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<MailboxPage> {
  const found = await newestNames(folder, size + 1, before);
  const names = found.slice(0, size);
  const entries = await Promise.all(names.map((name) => readMailboxEntry(folder, name)));
  const next = found.length > size ? numberOf(names.at(-1) as string) : undefined;
  // A file may have been removed since.
  return { entries: entries.filter((entry) => entry !== undefined), next };
}

/** Undefined when there is no such file, or its name is not one of the mailbox. */
export async function readMailboxEntry(folder: string, name: string): Promise<MailboxEntry | undefined> {
  if (numberOf(name) === undefined) return undefined;
  const raw = await readStart(join(folder, name)).catch(ifMissing);
  if (!raw) return undefined;
  return name.startsWith('sms-') ? textMessage(name, raw) : mail(name, raw);
}

function numberOf(name: string): number | undefined {
  const found = NAME.exec(name);
  return found ? Number(found[1] ?? found[2]) : undefined;
}

/** The names with the largest numbers, largest first. Keeps no more of them than it returns. */
async function newestNames(folder: string, size: number, before: number): Promise<string[]> {
  const newest: { name: string; number: number }[] = [];
  const dir = await opendir(folder, { bufferSize: 1024 }).catch(ifMissing);
  if (!dir) return [];
  for await (const { name } of dir) {
    const number = numberOf(name);
    if (number === undefined || number >= before) continue;
    if (newest.length === size && number < (newest.at(-1)?.number ?? 0)) continue;
    const at = newest.findIndex((other) => other.number < number);
    newest.splice(at < 0 ? newest.length : at, 0, { name, number });
    newest.length = Math.min(newest.length, size);
  }
  return newest.map(({ name }) => name);
}

async function readStart(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const buffer = Buffer.alloc(Math.min(MAX_BYTES, (await handle.stat()).size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

async function mail(name: string, raw: Buffer): Promise<MailboxEntry> {
  const { to, subject = '', date, text = '', html } = await PostalMime.parse(raw);
  const addresses = (to ?? []).flatMap(({ address }) => address ?? []);
  return { name, to: addresses.join(', '), subject, at: date, text, html };
}

function textMessage(name: string, raw: Buffer): MailboxEntry {
  const [, to = '', text = ''] = /^To: (.*)\n\n([\s\S]*)$/.exec(raw.toString('utf8')) ?? [];
  return { name, to, subject: '', at: undefined, text: text.trimEnd(), html: undefined };
}

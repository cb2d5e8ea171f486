/** Mails as people get them: those that an import would send, and files of them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Answer } from '../../contract/client.ts';
import { number } from '../follow/progress.ts';
import type { Session } from '../service/session.ts';

type DraftMail = Answer<'previewImportMails'>['mails'][number];
/** A mail that can be written to files. */
type Mail = Pick<DraftMail, 'language' | 'subject' | 'text' | 'html'>;

/** The mails that the import of a draft would send, each with its number of users. */
export async function readDraftMails({ api }: Session, importId: string): Promise<DraftMail[]> {
  const { mails } = await api.call('previewImportMails', { importId });
  return mails.filter(({ users = 0 }) => users > 0);
}

/**
 * Shows each mail as the person will see it.
 * @param folder for their HTML and text; undefined: the text is shown
 */
export async function showDraftMails({ out }: Session, mails: readonly DraftMail[], folder: string | undefined) {
  if (mails.length === 0) return;
  out.line('  Mails that would be sent, as people get them');
  for (const mail of mails) {
    const { kind, language, users = 0, subject, text } = mail;
    out.line(`  ${number(users).padStart(13)}  ${language}  ${subject}`);
    if (folder === undefined)
      for (const line of text.trimEnd().split('\n')) out.line(`                 | ${line}`.trimEnd());
    else for (const file of await writeMail(folder, kind, mail)) out.line(`                 ${file}`);
  }
  if (folder === undefined) out.line('  As HTML: --mail-previews FOLDER writes them to files.');
}

/**
 * Writes a mail to files.
 * @param output a folder, or a file that ends in .html or .txt
 * @returns the names of the files
 */
export async function writeMail(output: string, kind: string, mail: Mail): Promise<string[]> {
  const shown = `${mail.subject}\n\n${mail.text}`;
  const base = join(output, `${kind}.${mail.language}`);
  const files = output.endsWith('.html')
    ? { [output]: mail.html }
    : output.endsWith('.txt')
      ? { [output]: shown }
      : { [`${base}.html`]: mail.html, [`${base}.txt`]: shown };
  for (const [file, content] of Object.entries(files)) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  return Object.keys(files);
}

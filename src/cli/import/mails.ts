/** Mails as people get them: those that an import would send, and files of them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Answer } from '../../contract/client.ts';
import { number } from '../follow/progress.ts';
import { findOrg } from '../service/find.ts';
import type { Session } from '../service/session.ts';

type DraftMail = Answer<'previewImportMails'>['mails'][number];
/** A mail that can be written to files. */
type Mail = Pick<DraftMail, 'language' | 'subject' | 'text' | 'html'>;

/** Whose mails a dry run shows, and those of which other organizations it can. */
type Mailing = Pick<Answer<'previewImportMails'>, 'orgId' | 'orgs' | 'moreOrgs' | 'mails'>;

/**
 * The mails that the import of a draft would send to users of one organization, each with its number of users.
 * @param named the id, name or domain of the organization; default: the one with the most mails
 * @throws Failure
 */
export async function readDraftMails({ api }: Session, importId: string, named: string | undefined): Promise<Mailing> {
  const query = named === undefined ? {} : { orgId: await findOrg(api, named) };
  const { orgId, orgs, moreOrgs, mails } = await api.call('previewImportMails', { importId }, { query });
  return {
    ...(orgId === undefined ? {} : { orgId }),
    orgs,
    moreOrgs,
    mails: mails.filter(({ users = 0 }) => users > 0),
  };
}

/** Organizations that are shown with their number of mails. */
const MOST_ORGS = 20;

/**
 * Shows each mail as the person will see it.
 * @param folder for their HTML and text; undefined: the text is shown
 */
export async function showDraftMails({ out }: Session, mailing: Mailing, folder: string | undefined) {
  const { mails, orgs } = mailing;
  const of = orgs.find(({ orgId }) => orgId === mailing.orgId);
  if (orgs.length > 1) showOrgs(out, mailing);
  if (mails.length === 0) return;
  const whose = orgs.length > 1 && of ? ` of ${of.name || of.orgId}` : '';
  out.line(`  Mails${whose} that would be sent, as people get them`);
  for (const mail of mails) {
    const { kind, language, users = 0, subject, text } = mail;
    out.line(`  ${number(users).padStart(13)}  ${language}  ${subject}`);
    if (folder === undefined)
      for (const line of text.trimEnd().split('\n')) out.line(`                 | ${line}`.trimEnd());
    else for (const file of await writeMail(folder, kind, mail)) out.line(`                 ${file}`);
  }
  if (folder === undefined) out.line('  As HTML: --mail-previews FOLDER writes them to files.');
}

function showOrgs(out: Session['out'], { orgs, moreOrgs }: Mailing): void {
  out.line('  Mails that would be sent, by organization');
  for (const { orgId, name, mails } of orgs.slice(0, MOST_ORGS)) {
    out.line(`  ${number(mails).padStart(13)}  ${name || orgId}`);
  }
  const more = Math.max(0, orgs.length - MOST_ORGS) + moreOrgs;
  if (more > 0) out.line(`  ${''.padStart(13)}  ${number(more)} more with fewer mails`);
  out.line('  Those of another one: --mails-of ORG.');
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

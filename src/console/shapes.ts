/** What the API answers about users, imports and drafts, by the names that the screens have for it, and the words for it. */
import type { Request } from 'express';
import type { Answer } from '../contract/client.ts';
import type { Cause, Counts } from '../contract/import-types.ts';
import { ENTRY_FIELDS, FIX } from './texts/fix.ts';
import { problemText } from './texts/problems.ts';

export type UserAnswer = Answer<'getUser'>;
export type User = UserAnswer['user'];

/** The name of a person, or the user name of a user who has none. */
export function nameOfUser({ human, machine, username }: User): string {
  return human?.profile.displayName || machine?.name || username;
}

/** The page of a user, below `/console`. */
export function userPath(userId: string): string {
  return `/users/${encodeURIComponent(userId)}`;
}

/** An import, as its own page shows it. */
export type Result = Answer<'getImport'>;
/** An import, as the list shows it: without the roles of workers that it waits for. */
export type Progress = Answer<'listImports'>['imports'][number] & Pick<Result, 'missingRoles'>;
export type Item = Answer<'listImportItems'>['items'][number];

/** The import of the address. */
export function importOf({ params }: Request): { importId: string } {
  return { importId: String(params.importId) };
}

/** `RUNNING` */
export function stateOf({ state }: { state: string }): string {
  return state.replace(/^(?:IMPORT|ITEM)_STATE_/, '');
}

/** Users who are done. */
export function settled({ succeeded, skipped, failed, undone }: Counts): number {
  return succeeded + skipped + failed + undone;
}

/** Users who are not done; in a check, those whom it did not reach. */
export function open({ counts }: Pick<Progress, 'counts'>): number {
  return counts.total - settled(counts);
}

/** An import in preparation. */
export type Draft = Result & { draft: ShownDraft };
export type ShownDraft = NonNullable<Result['draft']>;
export type DraftFile = ShownDraft['files'][number];

/** Whether an import has not started; a started import keeps its number. */
export function isDraft(result: Result): result is Draft {
  return result.draft !== undefined;
}

/** What the files of a draft look like. */
export type Guess = Answer<'guessImport'>;

/** What is read of a file before the rest of it has arrived. */
const ENOUGH = 2 ** 20;

/** Whether the files of users have begun to arrive, so that they can be recognized. */
export function isRecognizable(files: readonly DraftFile[]): boolean {
  // The list of what is in a workbook is at its end.
  const enough = ({ name, size }: DraftFile) => (/\.xlsx$/i.test(name) ? size : Math.min(size, ENOUGH));
  return files.length > 0 && files.every((file) => file.offset >= enough(file));
}

/** Whether the users of a draft can be read: its files are complete, or its users came in a request. */
export function isReadable({ state, draft: { files } }: Draft): boolean {
  return isComplete(files) || (files.length === 0 && state !== 'IMPORT_STATE_UPLOADING');
}

/** Whether all files have arrived, and one of them has users. */
export function isComplete(files: readonly DraftFile[]): boolean {
  return files.some(({ kind }) => kind === 'users') && files.every(({ size, offset }) => offset === size);
}

/** What people call a field; a rare one keeps its path in the API. */
export function fieldName(path: string): string {
  return ENTRY_FIELDS[path.replace(/\[\d+\]/g, '[]')] ?? path.replace(/^user\./, '');
}

/** The cause in words: the field and what is wrong with it. */
export function nameOfCause({ field, scheme, message }: Pick<Cause, 'field' | 'scheme' | 'message'>): string {
  const problem = `${scheme && !message.includes(scheme) ? `(${scheme}) ` : ''}${problemText(message)}`;
  return field ? FIX.ofField(fieldName(field), problem) : problem;
}

/** The field of a cause that can be typed in; hashes, secrets and lists cannot. */
export function editableField({ id, field }: Pick<Cause, 'id' | 'field'>): string | undefined {
  if (id === 'USER-NAME-TAKEN') return 'user.userName';
  if (field === 'user.email') return 'user.email.email';
  return field && /^user\.(?:userName|(?:profile|email|phone)\.\w+)$/.test(field) ? field : undefined;
}

/** A text field of an entry; empty if it is absent or no text. */
export function textIn(entry: Record<string, unknown> | undefined, field: string): string {
  let value: unknown = entry;
  for (const name of field.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

/** The JSON merge patch that sets the field. */
export function patchOf(field: string, value: string): Record<string, unknown> {
  return field.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

/** The uploads of this page, and how a draft gets a file. They outlive the elements that show them. */
import { Upload } from './tus.ts';

export type Kind = 'users' | 'hashes' | 'hash_parameters';

/** By the id of the file on the service. */
const uploads = new Map<string, Upload>();
const listeners = new Set<() => void>();

export function uploadOf(fileId: string): Upload | undefined {
  return uploads.get(fileId);
}

/** Whether leaving this page would interrupt an upload. */
export function isUploading(): boolean {
  return [...uploads.values()].some(({ isOpen }) => isOpen);
}

/** @returns the function that ends it */
export function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changed(): void {
  for (const listener of listeners) listener();
}

/** How often a busy service is asked before the person is told; at once where the service names a longer pause. */
const BUSY_TRIES = 5;
const LONGEST_PAUSE_S = 10;

/** What the service says when it refuses. */
export class Refused extends Error {}

/** Creates a draft. @param api the address of the API for this page. @throws Refused */
export async function createDraft(api: string): Promise<string> {
  const answer = await request(`${api}/admin/v1/imports`, 'POST', { 'Content-Type': 'application/json' }, '{}');
  return ((await answer.json()) as { importId: string }).importId;
}

/** Adds a file to a draft and begins to send it. Returns its id. @throws Refused */
export async function addFile(api: string, importId: string, file: File, kind: Kind): Promise<string> {
  const answer = await request(`${api}/admin/v1/imports/${importId}/files`, 'POST', {
    'Tus-Resumable': '1.0.0',
    'Upload-Length': String(file.size),
    'Upload-Metadata': `filename ${base64(file.name)},kind ${base64(kind)}`,
  });
  await answer.text(); // Chromium would report the request as aborted
  const fileId = answer.headers.get('Location')?.split('/').at(-1) ?? '';
  remember(fileId, file);
  continueFile(api, importId, fileId, file, 0);
  return fileId;
}

/** Sends the rest of a file. */
export function continueFile(api: string, importId: string, fileId: string, file: File, offset: number): void {
  const url = `${api}/admin/v1/imports/${importId}/files/${fileId}`;
  const upload = new Upload(file, url, offset, changed);
  uploads.set(fileId, upload);
  upload.start();
}

/** Removes a file from the draft. @throws Refused */
export async function removeFile(api: string, importId: string, fileId: string): Promise<void> {
  uploads.get(fileId)?.pause();
  uploads.delete(fileId);
  localStorage.removeItem(keyOf(fileId));
  const answer = await request(`${api}/admin/v1/imports/${importId}/files/${fileId}`, 'DELETE', {
    'Tus-Resumable': '1.0.0',
  });
  await answer.text();
}

/** A file that is no export, and what the service says of it. */
export interface RefusedFile {
  fileId: string;
  importId: string;
  problem: string;
}

/**
 * The files that the service refused as no export. Nobody may have seen the answer: a page that was loaded meanwhile does
 * not show a file that is gone.
 * @param importId of one draft; empty: of all
 */
export function refusedOf(importId: string): RefusedFile[] {
  const refused = [...uploads].filter(([, { state, problem }]) => state === 'refused' && problem !== '');
  const files = refused.map(([fileId, upload]) => ({ fileId, importId: draftOf(upload), problem: upload.problem }));
  return files.filter((file) => importId === '' || file.importId === importId);
}

/** Whether this page sends, or has sent, a file of the draft. */
export function hasUploads(importId: string): boolean {
  return [...uploads.values()].some((upload) => draftOf(upload) === importId);
}

function draftOf({ url }: Upload): string {
  return /\/imports\/([^/]+)\/files\//.exec(url)?.[1] ?? '';
}

/** Forgets a file that the service refused, and has removed. */
export function forget(fileId: string): void {
  uploads.delete(fileId);
  localStorage.removeItem(keyOf(fileId));
}

/** Discards a draft of which nothing is left. @throws Refused */
export async function discardDraft(api: string, importId: string): Promise<void> {
  await (await request(`${api}/admin/v1/imports/${importId}/_discard`, 'POST', {})).text();
}

async function request(url: string, method: string, headers: Record<string, string>, body?: string): Promise<Response> {
  const send = () =>
    fetch(url, { method, headers, signal: AbortSignal.timeout(30_000), ...(body === undefined ? {} : { body }) });
  let answer = await send();
  for (let tries = 1; tries < BUSY_TRIES && (answer.status === 429 || answer.status === 503); tries++) {
    const seconds = Number(answer.headers.get('Retry-After')) || 1;
    if (seconds > LONGEST_PAUSE_S) break;
    await answer.text();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    answer = await send();
  }
  // Removed by somebody else meanwhile.
  if (answer.ok || (method === 'DELETE' && answer.status === 404)) return answer;
  const problem = (await answer.json().catch(() => ({}))) as { message?: string };
  throw new Refused(problem.message ?? '');
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** When the file was changed, to notice another content under the same name. Nothing of the content is kept. */
function remember(fileId: string, { lastModified }: File): void {
  localStorage.setItem(keyOf(fileId), String(lastModified));
}

/** Whether the file may be the one whose upload began. */
export function isUnchanged(fileId: string, { lastModified }: File): boolean {
  const known = localStorage.getItem(keyOf(fileId));
  return known === null || known === String(lastModified);
}

function keyOf(fileId: string): string {
  return `muster-upload-${fileId}`;
}

// A browser asks before it leaves a page that is uploading.
addEventListener('beforeunload', (event) => {
  if (isUploading()) event.preventDefault();
});

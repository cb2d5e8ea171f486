/** Drafts of imports in tests: create one, and upload its files by tus. */
import assert from 'node:assert/strict';
import type { Answer, CallOptions, TestApi } from '../api.ts';

export async function newDraft(api: TestApi, body: unknown = {}, options: CallOptions = {}): Promise<string> {
  const answer = await api.call('POST', '/admin/v1/imports', body, options);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.importId;
}

export interface TusFile {
  size: number;
  name?: string;
  kind?: string;
}

const TUS = { 'tus-resumable': '1.0.0' };

/** The answer of the creation. */
export function createFile(api: TestApi, importId: string, file: TusFile, options: CallOptions = {}): Promise<Answer> {
  const { size, name = 'people.csv', kind = 'users' } = file;
  const metadata = Object.entries({ filename: name, kind }).map(([key, value]) => `${key} ${btoa(value)}`);
  return api.call('POST', `/admin/v1/imports/${importId}/files`, undefined, {
    ...options,
    headers: { ...TUS, 'upload-length': String(size), 'upload-metadata': metadata.join(',') },
  });
}

/** Sends bytes of a file. @param path of the file, as the creation answers it */
export function sendBytes(api: TestApi, path: string, offset: number, bytes: Buffer, options: CallOptions = {}) {
  return api.call('PATCH', path, bytes, {
    ...options,
    headers: { ...TUS, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
  });
}

/** How many bytes of the file have arrived. */
export async function offsetOf(api: TestApi, path: string, options: CallOptions = {}): Promise<number> {
  const { status, headers } = await api.call('HEAD', path, undefined, { ...options, headers: TUS });
  assert.equal(status, 200);
  return Number(headers.get('upload-offset'));
}

/** Uploads a whole file. Returns its path. */
export async function uploadFile(
  api: TestApi,
  importId: string,
  bytes: Buffer | string,
  file: Partial<TusFile> = {},
  options: CallOptions = {},
): Promise<string> {
  const all = Buffer.from(bytes);
  const created = await createFile(api, importId, { size: all.length, ...file }, options);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const path = String(created.headers.get('location'));
  const sent = await sendBytes(api, path, 0, all, options);
  assert.equal(sent.status, 204, JSON.stringify(sent.body));
  return path;
}

/** Calls by operation: what is sent for one, and what TypeScript refuses (each `@ts-expect-error` is a case). */
import assert from 'node:assert/strict';
import test from 'node:test';
import { type Answer, type Call, type Options, requestOf } from '../../src/contract/client.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';

test('a request has the method, the path with its values, the query, the body and the organization', () => {
  assert.deepEqual(requestOf('getImport', { importId: '17' }), {
    method: 'GET',
    path: '/admin/v1/imports/17',
    headers: {},
  });
  assert.deepEqual(requestOf('removePat', { userId: 'auth0|6/0 ü', tokenId: 't?#' }), {
    method: 'DELETE',
    path: '/management/v1/users/auth0%7C6%2F0%20%C3%BC/pats/t%3F%23',
    headers: {},
  });
  const query = { pageSize: 10, pageToken: undefined, query: 'ann & bob' };
  assert.equal(
    requestOf('listImportItems', { importId: '17' }, { query }).path,
    '/admin/v1/imports/17/items?pageSize=10&query=ann%20%26%20bob',
  );
  assert.deepEqual(requestOf('createMachineUser', { org: 'bücher', body: { userName: 'reader', name: 'Reader' } }), {
    method: 'POST',
    path: '/management/v1/users/machine',
    headers: { 'content-type': 'application/json', 'x-service-orgid': Buffer.from('bücher').toString('latin1') },
    body: '{"userName":"reader","name":"Reader"}',
  });
});

test('a stream is sent unchanged, and headers of the caller win', () => {
  const stream = new ReadableStream<Uint8Array>();
  const { signal } = new AbortController();
  const headers = { 'content-type': 'application/x-ndjson' };
  assert.deepEqual(requestOf('importUsers', { query: { timeout: '1h', dryRun: 'true' }, headers, stream, signal }), {
    method: 'POST',
    path: '/admin/v1/import?timeout=1h&dryRun=true',
    headers,
    body: stream,
    signal,
  });
  assert.equal(requestOf('sendImportFile', { importId: '17', fileId: 'f' }, { stream }).body, stream);
});

test('every operation has a request: its values are asked for by name, in any order', () => {
  for (const { id, path } of OPERATIONS) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
    const values = Object.fromEntries(names.toReversed().map((name) => [name, `<${name}>`]));
    const call = requestOf as unknown as (id: string, ...args: unknown[]) => ReturnType<typeof requestOf>;
    const request = names.length === 0 ? call(id) : call(id, values);
    assert.equal(`${request.method} ${decodeURIComponent(request.path)}`, path.replace(/\{(\w+)\}/g, '<$1>'));
  }
});

/** Never called: only its types are checked. */
export async function typesOf(call: Call, stream: ReadableStream<Uint8Array>): Promise<void> {
  // @ts-expect-error there is no such operation
  await call('stopImport', { importId: '17' });
  // @ts-expect-error the path needs a value
  await call('pauseImport');
  // @ts-expect-error the value has another name
  await call('pauseImport', { id: '17' });
  // @ts-expect-error the path takes no values
  await call('getMe', { userId: 'ann' });
  // @ts-expect-error the body must be given
  await call('startImport', { importId: '17' });
  // @ts-expect-error a field of the body must be given
  await call('startImport', { importId: '17' }, { body: { onExisting: 'skip' } });
  // @ts-expect-error a field of the body has other values
  await call('startImport', { importId: '17' }, { body: { timeout: '1h', onExisting: 'replace' } });
  // @ts-expect-error the body has no such field
  await call('startImport', { importId: '17' }, { body: { timeout: '1h', force: true } });
  // @ts-expect-error the operation has no body
  await call('endPasswordSource', { sourceId: 's' }, { body: { now: true } });
  // @ts-expect-error the query has no such parameter
  await call('listImports', { query: { limit: 10 } });
  // @ts-expect-error the operation has no query
  await call('getImport', { importId: '17' }, { query: { pageSize: 10 } });
  // @ts-expect-error the operation is not one of an organization
  await call('listClients', { org: 'acme' });
  // @ts-expect-error the body is JSON only
  await call('createOrg', { stream });
  await call('resumeImport', { importId: '17' });
  await call('resumeImport', { importId: '17' }, { body: { timeout: undefined } });
  await call('searchUsers', { org: undefined, body: {} });
  const { counts } = await call('getImport', { importId: '17' });
  counts.total satisfies number;
  // @ts-expect-error the answer has no such field
  counts.done;
  const answer: Answer<'importUsers'> = await call('importUsers', { stream });
  answer.importId satisfies string;
  ({}) satisfies Options<'listPats'>;
}

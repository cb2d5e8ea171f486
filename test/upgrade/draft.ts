/** A draft that was made before an upgrade: only processes of the new version know it after the migration. */
import assert from 'node:assert/strict';
import { must, openCalls } from '../support/calls.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 3;

export interface OldDraft {
  /** This API of the old version serves no draft any more, and makes none. */
  isHiddenBy(oldUrl: string): Promise<void>;
  /** Checks and starts it by an API of the new version. @returns the number of users that were written */
  finish(newUrl: string): Promise<number>;
}

/** @param oldUrl an API of the old version, before the migration @param token of an administrator of the instance */
export async function keepDraft(oldUrl: string, token: string, orgId: string): Promise<OldDraft> {
  const by = (url: string) => openCalls(() => url, token);
  const body = bulk(orgId, people('draft-', USERS));
  const kept = await must(by(oldUrl).call('POST', '/admin/v1/import?draft=true', body));
  const path = `/admin/v1/imports/${kept.body.importId}`;
  return {
    async isHiddenBy(url) {
      const { call } = by(url);
      assert.equal((await call('GET', path)).status, 404);
      assert.ok((await call('POST', `${path}/_start`, { timeout: '10m' })).status >= 400);
      assert.ok((await call('POST', '/admin/v1/imports', {})).status >= 500);
      assert.ok((await call('POST', '/admin/v1/import?draft=true', body)).status >= 500);
      const { imports } = (await must(call('GET', '/admin/v1/imports?pageSize=100'))).body;
      const ids = imports.map(({ importId }: { importId: string }) => importId);
      assert.ok(ids.length > 0 && !ids.includes(kept.body.importId));
    },
    async finish(url) {
      const { call } = by(url);
      const until = (state: string) =>
        waitFor(async () => (await must(call('GET', path))).body.state === `IMPORT_STATE_${state}`, {
          what: `the draft in state ${state}`,
          timeoutMs: 180_000,
        });
      await until('DRAFT');
      await must(call('POST', `${path}/_check`, {}));
      await until('CHECKED');
      await must(call('POST', `${path}/_start`, { timeout: '10m' }));
      await until('SUCCEEDED');
      return USERS;
    },
  };
}

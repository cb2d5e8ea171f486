/** What the tests of a new import share: a world with workers, and the way through the steps. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import type { TestApi } from '../support/api.ts';
import { openWorld, type World } from './world.ts';

/** A world whose workers convert, check and import. */
export async function openWorking(): Promise<World> {
  const world = await openWorld();
  const { deps } = world.api;
  const workers = [startConverter(deps), startImportWorker(deps), startDispatcher(deps)];
  return {
    ...world,
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await world.stop();
    },
  };
}

/** Presses the button that leads to a step. */
export const next = (page: Page, step: string) =>
  page
    .locator(`main a.button, main button`)
    .filter({ hasText: `Next: ${step}` })
    .click();

/** Waits for the address of a step. */
export const step = (page: Page, name: string) => page.waitForURL(({ pathname }) => pathname.endsWith(`/${name}`));

/** A password source of the organization. Nobody asks it. */
export async function addSource(api: TestApi, orgId: string): Promise<string> {
  const source = { name: 'Old shop', kind: 'http', settings: { url: 'https://old.example.com/check' } };
  const { body } = await api.call('POST', '/management/v1/password_sources', source, { orgId });
  assert(body.sourceId, JSON.stringify(body));
  return body.sourceId;
}

/** Bulk imports whose few users arrive one a second: each is accepted at its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../testbed/client.ts';
import { entry, nextUser } from './imports.ts';
import { Meter } from './meter.ts';

/** Uploads under way at the same time; a caller may have 16. */
const AT_ONCE = 10;
const USERS = 20;
const PAUSE_MS = 1000;

interface Load {
  client: Client;
  orgId: string;
  ending: AbortSignal;
}

export function startSlowUploads(load: Load): Meter {
  const meter = new Meter('slow upload');
  const loop = async () => {
    while (!load.ending.aborted) {
      if (!(await meter.run(load.ending, () => load.client.upload(slowly(load))))) await sleep(PAUSE_MS);
    }
  };
  for (let n = 0; n < AT_ONCE; n++) void loop();
  return meter;
}

async function* slowly({ orgId, ending }: Load): AsyncGenerator<Buffer> {
  yield Buffer.from(`{"timeout":"1h","dataOrgs":{"orgs":[{"orgId":${JSON.stringify(orgId)},"humanUsers":[`);
  for (let n = 0; n < USERS && !ending.aborted; n++) {
    yield Buffer.from(`${n === 0 ? '' : ','}${JSON.stringify(entry(nextUser()))}`);
    await sleep(PAUSE_MS);
  }
  yield Buffer.from(']}]}}');
}

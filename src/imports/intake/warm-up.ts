/**
 * Reads users of nobody before the first body comes: V8 compiles code well only after it has run often, so the first
 * 20,000 users of a process would take it twice as much processor time as later ones.
 *
 * Guarantee: nothing is written, and no store is asked.
 */
import { setImmediate } from 'node:timers/promises';
import { DataOrgsParser } from '../entries/data-orgs.ts';
import type { ImportDeps } from '../entries/options.ts';
import { EntryShapes } from './fast/alike-entries.ts';
import { ItemSink } from './item-sink.ts';

/** More made no difference. */
const USERS = 5000;
const CHUNK_BYTES = 64 * 2 ** 10;

/** @returns how many users it has read */
export async function warmUp(deps: Pick<ImportDeps, 'pool' | 'secrets' | 'config'>): Promise<number> {
  const parser = new DataOrgsParser();
  parser.findShaped?.(new EntryShapes());
  const sink = new ItemSink(deps, {
    rules: { strict: false, withoutEmail: false },
    notes: undefined,
    passwordSource: undefined,
    hasPepper: false,
    entryPath: parser.entryPath,
    readCompact: async () => true,
    beforeCopy: () => Promise.reject(new Error('The warm-up writes nothing.')),
  });
  sink.begin('0');
  const of = { org: 0, tally: { orgId: '0', total: 0, failed: 0 } };
  const body = bodyOf(USERS);
  for (let at = 0; at < body.length; at += CHUNK_BYTES) {
    for (const step of parser.push(body.subarray(at, at + CHUNK_BYTES))) {
      if (step.type === 'users') await sink.take(of, step.entries, step.plain);
      if (step.type === 'shaped') await sink.takeShaped(of, step.shaped);
    }
    await setImmediate();
  }
  return sink.total;
}

function bodyOf(users: number): Buffer {
  const humanUsers = Array.from({ length: users }, (_, n) => ({
    userId: `2918${n}`,
    user: {
      userName: `ann.arbor.${n}`,
      profile: { firstName: 'Ann', lastName: 'Arbor', displayName: 'Ann Arbor', preferredLanguage: 'en' },
      email: { email: `ann.arbor.${n}@example.com`, isEmailVerified: true },
      hashedPassword: { value: `$2b$10$${'A'.repeat(53)}` },
    },
  }));
  return Buffer.from(JSON.stringify({ timeout: '1h', dataOrgs: { orgs: [{ orgId: '0', humanUsers }] } }));
}

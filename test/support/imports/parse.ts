/** Bodies of imports as bytes, the steps a parser must return for them, and every way to split them. */
import assert from 'node:assert/strict';
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import type { Step } from '../../../src/imports/entries/parser.ts';
import fc from '../fast-check.ts';

/** All steps of a body that arrives in these chunks; runs of entries of one organization are joined. */
export function steps(...pieces: (string | Uint8Array)[]): Step[] {
  const parser = new DataOrgsParser();
  const all = pieces.flatMap((piece) => parser.push(Buffer.from(piece)));
  return merge([...all, ...parser.end()]);
}

export function merge(all: Step[]): Step[] {
  const merged: Step[] = [];
  for (const step of all) {
    const last = merged.at(-1);
    if (step.type === 'users' && last?.type === 'users' && last.org === step.org) last.entries.push(...step.entries);
    else merged.push(step.type === 'users' ? { ...step, entries: [...step.entries], plain: false } : step);
  }
  return merged;
}

/** The stable id of the error that refuses a body; undefined when it is accepted. */
export function refusal(all: Step[]): string | undefined {
  const last = all.at(-1);
  return last?.type === 'error' ? last.error.id : undefined;
}

/** The id of the refusal, which must be the same for the whole body and byte by byte. */
export function refusedAs(body: string | Buffer): string | undefined {
  const id = refusal(steps(body));
  assert.equal(refusal(steps(...cutAt(Buffer.from(body), 'every byte'))), id, `byte by byte: ${body}`);
  return id;
}

/** A body around the text of `humanUsers`. */
export function around(humanUsers: string): string {
  return `{"timeout":"1h","dataOrgs":{"orgs":[{"orgId":"o","humanUsers":${humanUsers}}]}}`;
}

export function usersOf(all: Step[]): unknown[] {
  return all.flatMap((step) => (step.type === 'users' ? step.entries : []));
}

/** The bytes in chunks, split at each of `at`, or after every byte. */
export function cutAt(bytes: Uint8Array, at: number[] | 'every byte'): Uint8Array[] {
  if (at === 'every byte') return Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  const cuts = [...new Set(at.map((n) => n % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i]));
}

/** Where a body is split. */
export const cuts = fc.oneof(fc.array(fc.nat(5000), { maxLength: 8 }), fc.constant('every byte' as const));

const string = fc.string({ unit: 'binary', maxLength: 12 });
const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' });
const inner = fc.record({ userId: string, user: json, state: json }, { requiredKeys: [] });
const entry = fc.oneof(inner, json, fc.dictionary(string, json, { maxKeys: 3 }));

/** An object with these fields in any order, and some unknown ones. */
function shuffled(known: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const unknown = fc.dictionary(fc.constantFrom('x', '', 'Timeout', 'ids "quoted"', 'ünknown', '__proto__'), json, {
    maxKeys: 2,
  });
  return fc
    .tuple(known, unknown)
    .map(([a, b]) => [...Object.entries(a), ...Object.entries(b)])
    .chain((pairs) => fc.shuffledSubarray(pairs, { minLength: pairs.length }))
    .map((pairs) => Object.fromEntries(pairs));
}

const either = (...names: string[]) => fc.constantFrom(...names);
const org = shuffled(
  fc
    .record({
      id: either('orgId', 'org_id'),
      users: either('humanUsers', 'human_users'),
      entries: fc.array(entry, { maxLength: 5 }),
    })
    .map(({ id, users, entries }) => ({ [id]: 'org', [users]: entries })),
);
const dataOrgs = shuffled(fc.record({ orgs: fc.array(org, { maxLength: 3 }) }));

/** A valid body: the value, and its text in one of the possible spellings. */
export const goodBody = fc
  .record({
    name: either('dataOrgs', 'data_orgs'),
    dataOrgs,
    timeout: fc.oneof(fc.constant('1h'), json),
    indent: fc.constantFrom(undefined, 1, '\t', '\r\n '.trimEnd()),
    ascii: fc.boolean(),
  })
  .chain(({ name, dataOrgs: inside, timeout, indent, ascii }) =>
    shuffled(fc.constant({ [name]: inside, timeout })).map((value) => {
      const text = JSON.stringify(value, null, indent);
      return { value, text: ascii ? text.replace(/[^\0-\x7f]/g, escaped) : text };
    }),
  );

function escaped(c: string): string {
  return `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

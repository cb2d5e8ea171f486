/** A body gives the same users and the same errors with entries that are found by their shape as without. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../../../src/imports/entries/parser.ts';
import fc from '../../../support/fast-check.ts';
import { around, cutAt, merge, steps } from '../../../support/imports/parse.ts';
import { commonEntries, parseAll, shapedSteps } from '../../../support/imports/shaped.ts';

/** The same steps with entries that are parsed. */
function parsed(all: Step[]): Step[] {
  return merge(
    all.map((step) =>
      step.type === 'shaped' ? { type: 'users', org: step.org, entries: parseAll(step.shaped), plain: true } : step,
    ),
  );
}

/** The last step by its contents, as errors name the byte at which reading stopped. */
function comparable(all: Step[]) {
  return all.map((step) => (step.type === 'error' ? { id: step.error.id, field: step.error.field } : step));
}

const cuts = fc.array(fc.nat(30_000), { maxLength: 12 });
const indent = fc.constantFrom(undefined, 1, '\t');
const isShaped = (step: Step) => step.type === 'shaped';

describe('entries that are found by their shape', () => {
  it('are those that JSON.parse returns, however the body is written and split', () => {
    let shaped = 0;
    fc.assert(
      fc.property(commonEntries, indent, cuts, (entries, space, at) => {
        const body = Buffer.from(around(JSON.stringify(entries, null, space)));
        const all = shapedSteps(cutAt(body, at));
        shaped += all.filter(isShaped).length;
        assert.deepEqual(parsed(all), steps(body));
      }),
      { numRuns: 500 },
    );
    assert.ok(shaped > 100, `${shaped} runs of entries were found`);
  });

  it('are the same in chunks that are all as long, however short', () => {
    const lengths = fc.constantFrom(1, 7, 64, 300, 1400);
    fc.assert(
      fc.property(commonEntries, indent, lengths, (entries, space, length) => {
        const body = Buffer.from(around(JSON.stringify(entries, null, space)));
        const at = Array.from({ length: Math.ceil(body.length / length) }, (_, n) => n * length);
        const users = (list: Step[]) => list.flatMap((step) => (step.type === 'users' ? step.entries : []));
        const [all, expected] = [parsed(shapedSteps(cutAt(body, at))), steps(body)];
        assert.deepEqual(users(all), users(expected));
        assert.deepEqual(all.at(-1), expected.at(-1));
      }),
      { numRuns: 200 },
    );
  });

  it('refuse a broken body with the same error after the same users', () => {
    fc.assert(
      fc.property(commonEntries, fc.nat(), fc.nat(255), cuts, (entries, place, byte, at) => {
        const body = Buffer.from(around(JSON.stringify(entries)));
        body[place % body.length] = byte;
        const pieces = cutAt(body, at);
        const users = (list: Step[]) => parsed(list).flatMap((step) => (step.type === 'users' ? step.entries : []));
        const [all, expected] = [shapedSteps(pieces), steps(...pieces)];
        assert.deepEqual(comparable(all).at(-1), comparable(expected).at(-1));
        if (expected.at(-1)?.type === 'end') assert.deepEqual(users(all), users(expected));
      }),
      { numRuns: 1000 },
    );
  });

  for (const [name, entry] of Object.entries({
    'a repeated key':
      '{"userId":"1","userId":"2","user":{"profile":{"firstName":"a","lastName":"b"},"email":{"email":"a@b"}}}',
    'a repeated object':
      '{"userId":"1","user":{"profile":{"firstName":"a","lastName":"b"},"email":{"email":"a@b"},"email":{"email":"c@d"}}}',
    'an unknown field':
      '{"userId":"1","user":{"profile":{"firstName":"a","lastName":"b"},"email":{"email":"a@b"},"x":"1"}}',
    'a number': '{"userId":"1","user":{"profile":{"firstName":1,"lastName":"b"},"email":{"email":"a@b"}}}',
    'a field of the wrong object':
      '{"userId":"1","firstName":"a","user":{"profile":{"lastName":"b"},"email":{"email":"a@b"}}}',
    'no address': '{"userId":"1","user":{"profile":{"firstName":"a","lastName":"b"},"email":{}}}',
    'a key with an escape':
      '{"user\\u0049d":"1","user":{"profile":{"firstName":"a","lastName":"b"},"email":{"email":"a@b"}}}',
    'a plain password':
      '{"userId":"1","user":{"profile":{"firstName":"a","lastName":"b"},"email":{"email":"a@b"},"password":"p"}}',
  })) {
    it(`never have ${name}`, () => {
      const body = Buffer.from(around(`[${Array(20).fill(entry).join()}]`));
      assert.equal(shapedSteps(cutAt(body, [200, 700, 1200])).filter(isShaped).length, 0);
    });
  }
});

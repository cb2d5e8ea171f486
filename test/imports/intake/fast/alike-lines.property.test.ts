/** The line of COPY that is written from an entry's bytes is the one that its validated item gives. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CopyRows } from '../../../../src/imports/entries/copy-rows.ts';
import { createDuplicateFilter, ID, NAME } from '../../../../src/imports/entries/duplicate-filter.ts';
import { copyLine } from '../../../../src/imports/entries/item.ts';
import { USUAL_RULES, validateEntry } from '../../../../src/imports/entries/validate.ts';
import { marksAt, parseAt } from '../../../../src/imports/intake/fast/alike-entries.ts';
import { ShapedLines } from '../../../../src/imports/intake/fast/alike-lines.ts';
import fc from '../../../support/fast-check.ts';
import { SECRETS } from '../../../support/imports/imports.ts';
import { around, cutAt } from '../../../support/imports/parse.ts';
import { commonEntries, shapedSteps } from '../../../support/imports/shaped.ts';

const nothing = { unknown() {} };
const strict = { ...USUAL_RULES, strict: true };

it('a line from bytes is the line of the item that the schema returns, or no line', () => {
  let [written, left] = [0, 0];
  fc.assert(
    fc.property(commonEntries, fc.array(fc.nat(30_000), { maxLength: 6 }), (entries, at) => {
      const rows = new CopyRows();
      const lines = new ShapedLines(rows);
      lines.begin('291800000000000042');
      const [filter, expectedFilter] = [createDuplicateFilter(), createDuplicateFilter()];
      let ordinal = 9;
      for (const step of shapedSteps(cutAt(Buffer.from(around(JSON.stringify(entries))), at))) {
        if (step.type !== 'shaped') continue;
        for (let mark = 0; mark < step.shaped.marks.length; mark += marksAt(step.shaped, mark)) {
          rows.clear(true);
          if (!lines.add(step.shaped, mark, ++ordinal, 12)) {
            assert.equal(rows.length, 0);
            left++;
            continue;
          }
          const item = validateEntry(parseAt(step.shaped, mark), SECRETS, nothing, strict);
          assert.ok(item.state === 'pending', JSON.stringify(item));
          const id = expectedFilter.add(item.userId, ID);
          const duplicate = expectedFilter.add(item.userNameKey, NAME) || id;
          assert.equal(lines.markDuplicate(filter), duplicate);
          assert.equal(rows.lines.toString(), copyLine('291800000000000042', ordinal, 12, duplicate, item));
          assert.equal(lines.hash ?? null, item.passwordHash);
          written++;
        }
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(written > 500 && left > 10, `${written} lines were written, ${left} entries left to the schema`);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWarningCounter } from '../../../src/imports/entries/validate.ts';

describe('warnings', () => {
  it('count each path, up to a hundred of them, in a form the database can store', () => {
    const warnings = createWarningCounter();
    for (const path of ['b', 'a\0', 'b', 'a\0', 'a\0', 'x'.repeat(400), 'x'.repeat(500), '\ud800'])
      warnings.unknown(path);
    assert.deepEqual(
      warnings.list().map((w) => [w.path, w.count]),
      [
        ['b', 2],
        ['a\ufffd', 3],
        ['x'.repeat(300), 2],
        ['\ufffd', 1],
      ],
    );
    for (let i = 0; i < 1000; i++) warnings.unknown(`path-${i}`);
    warnings.unknown('b');
    const list = warnings.list();
    assert.deepEqual([list.length, list[0]?.count, list.at(-1)?.path], [100, 3, 'path-95']);
  });
});

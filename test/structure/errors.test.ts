/** Compares the list of errors (src/contract/errors.ts) with the code that raises them. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ERROR_GROUPS, ERRORS } from '../../src/contract/errors.ts';
import type { KnownError } from '../../src/platform/errors.ts';

/** Ids that come from elsewhere, as text: the error of another process of this service, and that of a stored item. */
const CASTS = ['src/console/api.ts', 'src/imports/single-import.ts'];

const list = Object.entries<KnownError>(ERRORS);
const texts = new Map(
  globSync('{src,workers}/**/*.ts')
    .filter((file) => !file.startsWith('src/contract/errors'))
    .map((file) => [file, readFileSync(file, 'utf8')]),
);

describe('the list of errors', () => {
  it('has each id once', () => {
    const ids = ERROR_GROUPS.flatMap(([, errors]) => Object.keys(errors));
    assert.deepEqual(
      ids.filter((id, i) => ids.indexOf(id) !== i),
      [],
    );
    assert.equal(ids.length, list.length);
  });

  it('has ids of capitals, and sentences', () => {
    const SENTENCE = /^[A-Z`].*[^.]\.$/s;
    const odd = list.filter(
      ([id, { meaning, remedy }]) =>
        !/^[A-Z]+(?:-[A-Z]+)*$/.test(id) ||
        ![meaning].flat().every((one) => SENTENCE.test(one)) ||
        ![remedy].flat().every((one) => SENTENCE.test(one)),
    );
    assert.deepEqual(odd, []);
  });

  // The types refuse an id that is raised and not listed.
  it('has no id that nothing raises', () => {
    const literals = new Set([...texts.values()].flatMap((text) => text.match(/(?<=')[A-Z]+(?:-[A-Z]+)*(?=')/g) ?? []));
    assert.deepEqual(
      list.filter(([id]) => !literals.has(id)).map(([id]) => id),
      [],
    );
  });

  it('is not evaded by a cast', () => {
    const found = [...texts].filter(([, text]) => /\bas (?:ErrorId|IdOf<)/.test(text)).map(([file]) => file);
    assert.deepEqual(found.sort(), CASTS);
  });
});

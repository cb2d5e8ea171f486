/** Files of SQL become statements with numbered parameters, and are refused where they differ from their code. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readStatement, variantsOf } from '../../../src/platform/db/statement.ts';

/** The statement of a text without variants. */
const only = (text: string, parameters: string[]) =>
  variantsOf(text, 'some.sql', { parameters, names: { only: undefined } }).only;

describe('named parameters', () => {
  it('get numbers in the order of the list, and their values with them', () => {
    const statement = only('select :name, :id, :name where id = any(:ids::int[])', ['id', 'ids', 'name']);
    assert.equal(statement.text, 'select $3, $1, $3 where id = any($2::int[])');
    assert.deepEqual(statement.bind({ name: 'n', ids: [2], id: 1 }).values, [1, [2], 'n']);
  });

  it('are not looked for in texts, names, comments and casts', () => {
    const same = [
      `select ':a', 'it''s :a', E'\\':a', ":a", "x"":a", x::a, (y)[1:2]`,
      '-- :a, don\'t touch "this',
      "/* :a isn't\n :a */",
      '$$ :a $$, $body$ :a $1 $$ $body$',
    ].join('\n');
    assert.equal(only(`${same}\nselect :a`, ['a']).text, `${same}\nselect $1`);
  });

  it('are refused if the code does not list them, if the file does not use them, and if they are numbers', () => {
    assert.throws(() => only('select :id, :nmae', ['id', 'name']), /some\.sql has the parameter nmae, which its code/);
    assert.throws(() => only("select :id, ':name'", ['id', 'name']), /some\.sql does not use the parameters name\./);
    assert.throws(() => only('select :id, $2', ['id']), /some\.sql has the parameter \$2, which must have a name\./);
  });
});

describe('variants', () => {
  const TEXT = `select
-- if one, two
  :a,
-- if three
  -- a comment
  :b,
-- end
  :c`;
  const read = (text: string) =>
    variantsOf(text, 'some.sql', { parameters: ['a', 'b', 'c'], names: { one: 'n1', two: 'n2', three: 'n3' } });

  it('have their own lines and those of all, and only the parameters that these name', () => {
    const { one, three } = read(TEXT);
    assert.equal(one.text, 'select\n  $1,\n  $2');
    assert.equal(three.text, 'select\n  -- a comment\n  $1,\n  $2');
    assert.deepEqual(three.bind({ a: 1, b: 2, c: 3 }), { name: 'n3', text: three.text, values: [2, 3] });
  });

  it('are refused if the code does not list them, or if their lines do not end or begin', () => {
    assert.throws(
      () => read(TEXT.replace('if three', 'if for')),
      /some\.sql:4 has lines for the unknown variant for\./,
    );
    assert.throws(() => read(TEXT.replace('-- end\n', '')), /some\.sql does not end the lines for three\./);
    assert.throws(() => read(`${TEXT}\n-- end`), /some\.sql:9 ends lines of variants that did not begin\./);
  });
});

it('a file is read when its statement is defined, and sent without the comment that it begins with', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-statement-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'one.sql');
  await writeFile(file, '-- What it is for: :b\n-- more\nselect :a\n');
  const { bind } = readStatement(pathToFileURL(file), { parameters: ['a'], name: 'one' });
  assert.deepEqual(bind({ a: 1 }), { name: 'one', text: 'select $1', values: [1] });
});

it('statements in the code are no longer than a screen: longer ones lie in a file', () => {
  const SCREEN = 40;
  const files = globSync('{src,workers}/**/*.ts');
  const long = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/`(?:[^`\\]|\\.)*`/g)]
      .map(([text]) => text)
      .filter((text) => text.split('\n').length > SCREEN && /\b(?:select|insert|update|delete)\b/.test(text))
      .map((text) => `${file} ${text.slice(0, 60)}`),
  );
  assert.deepEqual(long, []);
});

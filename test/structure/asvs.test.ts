/**
 * docs/security.md answers every requirement of OWASP ASVS 5.0.0, levels 1 and 2, once, and names only what exists.
 * `asvs-5.0.0.txt` lists their numbers and levels, as the standard has them.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { it } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const PAGE = read('docs/security.md');
const ROW = /^\| (\d+\.\d+\.\d+) \| ([12]) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm;
const ROWS = [...PAGE.matchAll(ROW)].map(([, number = '', level, , verdict, why = '']) => {
  return { number, level, verdict, why };
});
/** Paths in code spans; the name of a file alone or `DELETE …/totp` is none. */
const filesIn = (text: string) =>
  [
    ...text.matchAll(/`((?:src|test|workers|deploy|docs)\/[\w./-]+|Dockerfile|\.dockerignore|[\w-]+\.(?:yml|json))`/g),
  ].map(([, path = '']) => path);

it('every requirement of levels 1 and 2 has one row, in the order of the standard', () => {
  const expected = read('test/structure/asvs-5.0.0.txt').trim().split('\n');
  assert.equal(expected.length, 253);
  assert.deepEqual(
    ROWS.map(({ number, level }) => `${number} ${level}`),
    expected,
  );
});

it('every verdict is a known one and has its reason; what is met names the file or page that ensures it', () => {
  for (const { number, verdict, why } of ROWS) {
    assert(['met', 'operator', 'not applicable', 'not met'].includes(verdict as string), `${number}: ${verdict}`);
    assert(why.trim() !== '', number);
    if (verdict === 'met') assert(filesIn(why).length > 0 || /\]\([\w.#-]+\)/.test(why), `${number}: ${why}`);
  }
});

it('every file that the page names exists', () => {
  const files = filesIn(PAGE);
  assert(files.length > 200, String(files.length));
  assert.deepEqual(
    files.filter((path) => !existsSync(new URL(path, ROOT))),
    [],
  );
});

it('every link of the page leads to a page and a heading that exist', () => {
  const links = [...PAGE.matchAll(/\]\(((?!https:)[^)#]*)(?:#([^)]+))?\)/g)];
  assert(links.length > 50, String(links.length));
  for (const [link, path, heading] of links) {
    const target = new URL(path || 'security.md', new URL('docs/', ROOT));
    assert(existsSync(target), link);
    if (heading) assert(headingsOf(readFileSync(target, 'utf8')).includes(heading), link);
  }
});

/** As GitHub makes them. */
function headingsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

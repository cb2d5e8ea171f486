/** Every page takes its sizes of text and its weights from one scale. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string) => readFileSync(new URL(`../../../src/${path}`, import.meta.url), 'utf8');
const LOOK = read('platform/html/look.css');
const DOCS = 'contract/docs/docs.css';
const STYLES = ['console/browser/console.css', DOCS, 'platform/html/layout.ts'];

test('text has the sizes and weights of the scale, and no others', () => {
  for (const path of STYLES) {
    const style = read(path);
    for (const [, property, value = ''] of style.matchAll(/(font-size|font-weight|font):\s*([^;}]+)/g)) {
      const size = /^(?:var\(--(?:size|weight)-\w+\)|inherit|normal)/;
      assert.match(value.trim(), size, `${path}: ${property}: ${value}`);
    }
  }
});

test('no style depends on the words of a language', () => {
  for (const path of STYLES) assert.doesNotMatch(read(path), /\[(?:aria-label|title|alt|placeholder)[~|^$*]?=/, path);
});

test('the pages of /docs have the colours of all pages, and none of their own', () => {
  const style = read(DOCS);
  assert.match(style, /^@import url\("[^"]*look\.css"\);/);
  assert.doesNotMatch(style, /#[0-9a-f]{3,8}\b|rgb\(/i);
  const known = new Set([...LOOK.matchAll(/(--[\w-]+):/g)].map(([, name]) => name));
  const named = [...style.matchAll(/var\((--[\w-]+)\)/g)].map(([, name]) => name);
  assert.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

test('every colour and size that a page names has a value, also in the dark', () => {
  const [light = '', dark = ''] = LOOK.split('@media (prefers-color-scheme: dark)');
  const named = (css: string) => [...css.matchAll(/(--[\w-]+):/g)].map(([, name]) => name as string);
  const colours = named(light).filter((name) => !/^--(size|weight)-/.test(name));
  assert.deepEqual(named(dark).sort(), colours.sort());
  for (const path of STYLES) {
    const style = read(path);
    const known = new Set([...named(light), ...named(style)]);
    const unknown = [...style.matchAll(/var\((--[\w-]+)\)/g)].map(([, name]) => name as string);
    assert.deepEqual(
      unknown.filter((name) => !known.has(name)),
      [],
      path,
    );
  }
});

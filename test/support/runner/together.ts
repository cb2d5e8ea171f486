/**
 * Several test files in one process, which loads the code that they test once: that takes longer than most of them run.
 *
 * Guarantee: a file's hooks and tests are a suite of its own, named as the file; the next begins when it is over.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startsOf } from './needs.ts';

/** Files of a group: few enough that the groups, side by side, end at about the same time. */
const MOST_FILES = { nothing: 10, services: 4, own: 1 };
const FOLDER = resolve('node_modules/.cache/tests', String(process.pid));

/**
 * What to run instead of the files: groups of those that start the same (needs.ts), each where its first file stood. The
 * groups are removed when this process ends.
 * @param files relative to the root of the project, where we run
 */
export function runTogether(files: readonly string[]): string[] {
  mkdirSync(FOLDER, { recursive: true });
  process.on('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
  const kinds = Object.groupBy(files, startsOf);
  return files.flatMap((file) => {
    const kind = startsOf(file);
    const peers = kinds[kind] ?? [];
    const place = peers.indexOf(file);
    if (place % MOST_FILES[kind] !== 0) return [];
    const group = peers.slice(place, place + MOST_FILES[kind]);
    return group.length === 1 ? [file] : [writeGroup(group)];
  });
}

/** A file that imports others; its name is that of the first and of the last. */
function writeGroup(files: readonly string[]): string {
  const nameOf = (file = '') => file.replace(/^test\/|\.test\.ts$/g, '').replaceAll('/', '-');
  const path = resolve(FOLDER, `${nameOf(files[0])}--${nameOf(files.at(-1))}.mjs`);
  const suites = files.map((file) => {
    const [name, url] = [file, pathToFileURL(resolve(file)).href].map((text) => JSON.stringify(text));
    return `describe(${name}, async () => { await import(${url}); });\n`;
  });
  writeFileSync(path, `import { describe } from 'node:test';\n${suites.join('')}`);
  return path;
}

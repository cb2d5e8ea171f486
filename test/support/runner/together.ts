/**
 * Runs several test files in one process, which loads the tested code once, because loading takes longer than most
 * files.
 *
 * Guarantee: a file's hooks and tests form a separate suite with the file's name; the next one begins when it has
 * ended.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startsOf } from './needs.ts';

/** Number of files in a group: few enough that parallel groups end at about the same time. */
const MOST_FILES = { nothing: 30, services: 6, own: 1 };
const FOLDER = resolve('node_modules/.cache/tests', String(process.pid));

/**
 * Replaces files by groups of files that start the same things (needs.ts), each at the place of its first file. The
 * files of the groups are removed when this process ends.
 * @param files relative to the root of the project, the current folder
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

/** Writes a file that imports others; its name consists of the first and the last one's. */
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

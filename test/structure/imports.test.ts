/** Compares the imports of the code with the rules of layers.ts. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { CLIENT_EXCEPTIONS, CLIENTS, FEWEST_LINES, PACKAGES, PARTS, SHORT, STAGES, UPWARD } from './layers.ts';

interface Import {
  file: string;
  /** A path from the root of the project, or the name of a package. */
  target: string;
}

/** The service, and beside it what runs it: the second list may import the first. */
const SERVICE = ['src', 'workers'];
const ROOTS = [...SERVICE, 'demo', 'bench', 'chaos'];
const STATEMENT = /^(?:import|export)\s+(?:type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const CALL = /\bimport\(\s*'([^']+)'/g;
/** A thread or a process that a file starts. */
const ENTRY = /\bnew URL\(\s*'([^']+\.[jt]s)',\s*import\.meta\.url/g;

const files = ROOTS.flatMap((root) => globSync(`${root}/**/*.{ts,js}`)).map(normalize);
const imports = files.flatMap(importsOf);
const inside = imports.filter(({ target }) => ROOTS.includes(target.split('/')[0] as string));
const service = inside.filter(({ file }) => partOf(file) !== undefined);

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const entries = [...text.matchAll(ENTRY)].map(([, target]) => join(dirname(file), target as string));
  const specifiers = [...text.matchAll(STATEMENT), ...text.matchAll(CALL)].map(([, target]) => target as string);
  return [
    ...specifiers
      .filter((target) => !target.startsWith('node:'))
      .map((target) => (target.startsWith('.') ? join(dirname(file), target) : packageOf(target))),
    ...entries,
  ].map((target) => ({ file, target }));
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
}

/** `platform` of `src/platform/db/pool.ts`; undefined outside the service. */
function partOf(file: string): string | undefined {
  const [root, name] = file.split('/') as [string, string];
  return root === 'src' ? name : SERVICE.find((other) => other === root);
}

/** The place of a file in the order of the parts; that of an unknown part is -1. */
const rankOf = (file: string) => PARTS.indexOf(partOf(file) ?? '');

/** The place of a file of `src/imports` in the order of its folders. */
function stageOf(file: string): number | undefined {
  if (partOf(file) !== 'imports') return undefined;
  const [, , folder, ...names] = file.split('/') as [string, string, string, ...string[]];
  return names.length === 0 ? STAGES.length : STAGES.indexOf(folder);
}

const nameOf = ({ file, target }: Import) => `${file} ${target}`;

describe('the structure', () => {
  it('reads the imports', () => {
    assert(files.length > 300 && inside.length > 1000, `${files.length} files, ${inside.length} imports`);
    assert.deepEqual(
      // Data is imported too.
      inside.filter(({ target }) => !files.includes(target) && !(target.endsWith('.json') && existsSync(target))),
      [],
    );
  });

  it('consists of the parts', () => {
    const parts = new Set(files.flatMap((file) => partOf(file) ?? []));
    assert.deepEqual([...parts].sort(), [...PARTS].sort());
    const stages = files.filter((file) => (stageOf(file) ?? -1) < STAGES.length && stageOf(file) !== undefined);
    assert.deepEqual([...new Set(stages.map((file) => file.split('/')[2]))].sort(), [...STAGES].sort());
  });

  it('imports from earlier parts only', () => {
    const upward = service.filter(
      ({ file, target }) => !PARTS.includes(partOf(target) ?? '') || rankOf(file) < rankOf(target),
    );
    assert.deepEqual(upward.map(nameOf), UPWARD);
  });

  it('imports from earlier stages of an import only', () => {
    const upward = service.filter(({ file, target }) => {
      const [from, to] = [stageOf(file), stageOf(target)];
      return from !== undefined && to !== undefined && from < to;
    });
    assert.deepEqual(upward.map(nameOf), []);
  });

  it('lets clients talk to the service over HTTP', () => {
    const direct = service.filter(({ file, target }) => {
      const [part, other] = [partOf(file), partOf(target) as string];
      const allowed: readonly string[] | undefined = CLIENTS[part as keyof typeof CLIENTS];
      return allowed && part !== other && !allowed.includes(other);
    });
    assert.deepEqual([...new Set(direct.map(nameOf))].sort(), [...CLIENT_EXCEPTIONS].sort());
  });

  it('has no circular imports', () => {
    assert.deepEqual(circle(files, inside), []);
  });

  it('has no circles between the folders of a part', () => {
    const folders = service
      .filter(({ file, target }) => partOf(file) === partOf(target))
      .map(({ file, target }) => ({ file: dirname(file), target: dirname(target) }))
      // A registry beside a folder of peers imports each of them, and they what they are made of.
      .filter(({ file, target }) => file !== target && !target.startsWith(`${file}/`));
    assert.deepEqual(circle([...new Set(folders.map(({ file }) => file))], folders), []);
  });

  it('imports certain packages only in their designated folders', () => {
    const elsewhere = imports.filter(({ file, target }) => {
      const folders = PACKAGES[target];
      return folders && !folders.some((folder) => file.startsWith(`${folder}/`));
    });
    assert.deepEqual(elsewhere, []);
  });

  it('has no file that is only a piece of its one importer', () => {
    const importers = Map.groupBy(
      service.filter(({ target }) => !target.endsWith('.json')),
      ({ target }) => target,
    );
    const pieces = [...importers].filter(([file, found]) => {
      const from = new Set(found.map((one) => one.file));
      const lines = readFileSync(file, 'utf8').split('\n').length - 1;
      return from.size === 1 && dirname(found[0]?.file as string) === dirname(file) && lines < FEWEST_LINES;
    });
    assert.deepEqual(pieces.map(([file]) => file).sort(), Object.keys(SHORT).sort(), 'SHORT of layers.ts');
  });
});

/** The first circle found, as a path; empty if there is none. */
function circle(nodes: readonly string[], edges: readonly Import[]): string[] {
  const targets = Map.groupBy(edges, ({ file }) => file);
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return [];
    done.add(node);
    for (const { target } of targets.get(node) ?? []) {
      const found = visit(target, [...path, node]);
      if (found.length > 0) return found;
    }
    return [];
  };
  for (const node of nodes) {
    const found = visit(node, []);
    if (found.length > 0) return found;
  }
  return [];
}

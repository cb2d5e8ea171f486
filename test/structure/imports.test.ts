/** Checks the actual imports of the code against the layers in layers.ts. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { BASE, LAYERS, MOST_FILES, PACKAGES, PEERS, STAGES } from './layers.ts';

interface Import {
  file: string;
  /** A path from the root of the project, or the name of a package. */
  target: string;
}

const ROOTS = ['src', 'workers', 'demo', 'bench', 'chaos'];
const STATEMENT = /^(?:import|export)\s+(?:type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const CALL = /\bimport\(\s*'([^']+)'/g;

const files = ROOTS.flatMap((root) => globSync(`${root}/**/*.{ts,js}`)).map(normalize);
const imports = files.flatMap(importsOf);
const inside = imports.filter(({ target }) => ROOTS.includes(target.split('/')[0] as string));
const layers = Object.keys(LAYERS);

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(STATEMENT), ...text.matchAll(CALL)]
    .map(([, target]) => target as string)
    .filter((target) => !target.startsWith('node:'))
    .map((target) => ({ file, target: target.startsWith('.') ? join(dirname(file), target) : packageOf(target) }));
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
}

function isBase(file: string): boolean {
  return BASE.some((name) => file === `src/${name}`);
}

function layerOf(file: string): string | undefined {
  return layers.find((layer) => file === layer || file.startsWith(`${layer}/`));
}

/** The part of a folder with stages that a file belongs to. */
function stageOf(folder: string, file: string): string | undefined {
  return file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;
}

describe('the structure', () => {
  it('reads the imports', () => {
    assert(files.length > 300 && inside.length > 1000, `${files.length} files, ${inside.length} imports`);
    assert.deepEqual(
      inside.filter(({ target }) => !files.includes(target)),
      [],
    );
  });

  it('assigns every folder to one layer', () => {
    assert.deepEqual(
      files.filter((file) => !isBase(file) && !layerOf(file)),
      [],
      'add these files to layers.ts',
    );
    for (const [folder, stages] of Object.entries(STAGES)) {
      const found = new Set(files.flatMap((file) => stageOf(folder, file) ?? []));
      assert.deepEqual([...found].sort(), [...stages].sort(), `the stages of ${folder}`);
    }
  });

  it('has no import that its layer does not allow', () => {
    const forbidden = inside.filter(({ file, target }) => {
      if (isBase(target)) return false;
      const layer = layerOf(file);
      if (layer === undefined) return true; // one of BASE
      if (layer === layerOf(target)) return false;
      return !(LAYERS[layer] ?? []).some((allowed) => target === allowed || target.startsWith(`${allowed}/`));
    });
    assert.deepEqual(forbidden, []);
  });

  it('imports downwards, and allows no unused import', () => {
    for (const [place, layer] of layers.entries()) {
      for (const allowed of LAYERS[layer] ?? []) {
        const below = layers.slice(0, place).some((lower) => allowed === lower || allowed.startsWith(`${lower}/`));
        assert(below, `${layer} may not import ${allowed}, which is not below it`);
        const used = inside.some(
          ({ file, target }) => layerOf(file) === layer && (target === allowed || target.startsWith(`${allowed}/`)),
        );
        assert(used, `${layer} does not import ${allowed}: remove it from layers.ts`);
      }
    }
  });

  it('imports from earlier stages only', () => {
    for (const [folder, stages] of Object.entries(STAGES)) {
      const upward = inside.filter(({ file, target }) => {
        const [from, to] = [stageOf(folder, file), stageOf(folder, target)];
        return from !== undefined && to !== undefined && stages.indexOf(to) > stages.indexOf(from);
      });
      assert.deepEqual(upward, [], folder);
    }
  });

  it('has no circular imports', () => {
    const targets = Map.groupBy(inside, ({ file }) => file);
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      assert(!path.includes(file), [...path, file].join(' imports '));
      if (done.has(file)) return;
      for (const { target } of targets.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
  });

  it('imports certain packages only in their designated folders', () => {
    const elsewhere = imports.filter(({ file, target }) => {
      const folders = PACKAGES[target];
      return folders && !folders.some((folder) => file.startsWith(`${folder}/`));
    });
    assert.deepEqual(elsewhere, []);
  });

  it('has small folders', () => {
    const all = [...ROOTS, 'test', 'docs'].flatMap((root) => globSync(`${root}/**/*.{ts,js,sql,lua,md}`));
    const sizes = Map.groupBy(
      all.filter((file) => !file.endsWith('README.md')),
      dirname,
    );
    const large = [...sizes].filter(([folder, { length }]) => length > MOST_FILES && !PEERS.includes(folder));
    assert.deepEqual(
      large.map(([folder, { length }]) => `${folder}: ${length}`),
      [],
    );
  });
});

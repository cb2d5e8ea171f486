/**
 * Preloaded by every process of a run: remembers which file each import leads to, because finding it out is a third of
 * the time that loading the code takes.
 *
 * The file's name has the digest of package-lock.json (runner.ts), so that it is not used after an update of packages.
 * Entries of files that have moved are not asked for any more; a missing file fails as it would without them.
 *
 * On crash: entries of that process are found again by the next one.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

type Target = [file: string, format: string | undefined];

const ROOT = new URL('../../../', import.meta.url).href;
const FILE = fileURLToPath(
  new URL(`node_modules/.cache/resolved${new URL(import.meta.url).search.slice(1)}.json`, ROOT),
);
const GENERATED = 'node_modules/.cache/';

const known = readAll();
const found: Record<string, Target> = {};

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL;
    if (!parent?.startsWith(ROOT) || parent.startsWith(GENERATED, ROOT.length)) return next(specifier, context);
    const kind = context.conditions.includes('require') ? 'require' : 'import';
    const key = `${kind} ${specifier} ${parent.slice(ROOT.length)}`;
    const [file, format] = known[key] ?? [];
    if (file !== undefined) {
      const { importAttributes } = context;
      return { url: ROOT + file, ...(format ? { format } : {}), importAttributes, shortCircuit: true };
    }
    const resolved = next(specifier, context);
    if (resolved.url.startsWith(ROOT)) found[key] = [resolved.url.slice(ROOT.length), resolved.format ?? undefined];
    return resolved;
  },
});

if (isMainThread) process.on('exit', keep);

function readAll(): Record<string, Target> {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Target>;
  } catch {
    return {}; // the first process of the first run
  }
}

/** Adds to what others have written meanwhile; of several at the same moment, the last one's entries remain. */
function keep(): void {
  if (Object.keys(found).length === 0) return;
  mkdirSync(dirname(FILE), { recursive: true });
  const own = `${FILE}.${process.pid}`;
  writeFileSync(own, JSON.stringify({ ...readAll(), ...found }));
  renameSync(own, FILE);
}

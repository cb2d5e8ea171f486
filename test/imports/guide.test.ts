/**
 * The commands of docs/imports.md, run in their order in one shell and an empty folder, against a real service: each file
 * and variable that a command uses comes from a command before it, and each answer is no error.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { blocksOf } from '../deploy/commands.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

/** What a command answers as written, as its place in the page is that of an import that still runs, or of a setting. */
const REFUSED: Readonly<Record<string, string>> = {
  _pause: 'IMPORT-STATE',
  _resume: 'IMPORT-STATE',
  _send_sign_in_mails: 'URL-TEMPLATE-NOT-ALLOWED',
};
const MARK = '===== block';

let api: TestApi;
let folder: string;
let workers: { stop(): Promise<unknown> }[];
before(async () => {
  api = await startApi();
  workers = [startConverter(api.deps), startImportWorker(api.deps), startDispatcher(api.deps)];
  folder = await mkdtemp(join(tmpdir(), 'muster-guide-'));
});
after(async () => {
  await rm(folder, { recursive: true });
  await Promise.all(workers.map((worker) => worker.stop()));
  await api.stop();
});

/** The ids of the errors in what a block printed. A failed user of an import has one too, and is no error. */
function errorsIn(output: string): string[] {
  const lines = output.split(/\n|(?<=\})(?=\{)/).filter((line) => line.startsWith('{'));
  const answers = lines.flatMap((line): { code?: unknown; details?: { id?: string }[] }[] => {
    try {
      return [JSON.parse(line)];
    } catch {
      return []; // a part of a stream
    }
  });
  return answers.filter(({ code }) => typeof code === 'number').map(({ details }) => String(details?.[0]?.id));
}

test('the commands of docs/imports.md work in their order in an empty folder', async (t) => {
  if (!requireOrSkip(t, 'bash')) return;
  const page = await readFile(new URL('../../docs/imports.md', import.meta.url), 'utf8');
  const blocks = blocksOf(page, 'sh').map((block) =>
    block.replace(/^URL=.*$/m, `URL=${api.url}`).replace(/^TOKEN=.*$/m, `TOKEN=${api.token}`),
  );
  assert(blocks.length > 20, `${blocks.length} blocks`);
  const script = blocks.map((block, i) => `echo; echo '${MARK}' ${i}; echo '${MARK}' ${i} >&2\n${block}\n`).join('');
  const run = promisify(execFile)('bash', ['-u', '-c', `curl() { command curl -sS "$@"; }\n${script}`], {
    cwd: folder,
    maxBuffer: 2 ** 26,
    env: { PATH: process.env.PATH },
  });
  const { stdout, stderr } = await run;
  const [printed, said] = [stdout, stderr].map((text) => text.split(MARK).slice(1));
  for (const [i, block] of blocks.entries()) {
    assert.match(said?.[i] ?? '', /^ \d+\s*$/, `block ${i} says something is wrong:\n${block}\n${said?.[i]}`);
    const expected = Object.entries(REFUSED).flatMap(([action, id]) => (block.includes(`/${action}`) ? [id] : []));
    assert.deepEqual(errorsIn(printed?.[i] ?? ''), expected, `${block}\n${printed?.[i]}`);
  }
  const files = await readdir(folder);
  assert(
    files.some((name) => /^import-\d+\.csv$/.test(name)),
    files.join(),
  );
});

/** Runs the commands of a page of the documentation in their order, in one shell and an empty folder. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { blocksOf } from '../deploy/commands.ts';
import type { TestApi } from './api.ts';

export interface Guide {
  /** A page of `docs/`. */
  page: string;
  /** Ids of the errors that a block answers as written, by a text in it. */
  refused?: Readonly<Record<string, string>>;
  /** Blocks that are not run: a text in each. */
  notRun?: readonly string[];
  /** Programs that the page shows, by the name that its commands call them: a text in each. */
  programs?: Readonly<Record<string, string>>;
}

const MARK = '===== block';

/** Each file and variable that a command uses comes from a command before it, and each answer is no error. @returns the files that were written */
export async function runGuide(
  api: TestApi,
  { page, refused = {}, notRun = [], programs = {} }: Guide,
): Promise<string[]> {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const blocks = blocksOf(text, 'sh')
    .filter((block) => !notRun.some((part) => block.includes(part)))
    .map((block) =>
      block
        .replace(/^(?:URL|B)=http.*$/m, (line) => `${line.split('=')[0]}=${api.url}`)
        .replace(/^TOKEN=….*$/m, `TOKEN=${api.token}`),
    );
  assert(blocks.length > 5, `${blocks.length} blocks`);
  const folder = await mkdtemp(join(tmpdir(), 'muster-guide-'));
  try {
    for (const [name, part] of Object.entries(programs)) {
      const program = blocksOf(text, 'js').find((block) => block.includes(part)) ?? assert.fail(`no program ${name}`);
      await writeFile(join(folder, name), program);
    }
    const { stdout, stderr } = await run(blocks, folder);
    const [printed, said] = [stdout, stderr].map((output) => output.split(MARK).slice(1));
    for (const [i, block] of blocks.entries()) {
      assert.match(said?.[i] ?? '', /^ \d+\s*$/, `block ${i} says something is wrong:\n${block}\n${said?.[i]}`);
      const expected = Object.entries(refused).flatMap(([part, id]) => (block.includes(part) ? [id] : []));
      assert.deepEqual(errorsIn(printed?.[i] ?? ''), expected, `${block}\n${printed?.[i]}`);
    }
    return await readdir(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function run(blocks: readonly string[], cwd: string): Promise<{ stdout: string; stderr: string }> {
  const script = blocks.map((block, i) => `echo; echo '${MARK}' ${i}; echo '${MARK}' ${i} >&2\n${block}\n`).join('');
  const text = `curl() { command curl -sS "$@"; }\n${script}`;
  return promisify(execFile)('bash', ['-u', '-c', text], { cwd, maxBuffer: 2 ** 26, env: { PATH: process.env.PATH } });
}

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

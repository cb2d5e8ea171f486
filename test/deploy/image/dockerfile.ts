/** Runs the steps of the Dockerfile without a container engine: each stage is a folder with the files of its image. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface Image {
  /** The folder that is `/` in the image, without the base image. */
  root: string;
  env: Record<string, string>;
  labels: Record<string, string>;
  command: string[];
  /** `uid:gid`. */
  user: string;
  workdir: string;
}

/** @param folder an empty one, for the stages */
export function build(folder: string): Image {
  const stages: Record<string, Image> = {};
  let image = emptyImage(folder);
  for (const [instruction, given] of instructions()) {
    if (instruction === 'FROM') {
      const name = / AS (\w+)$/.exec(given)?.[1] ?? 'final';
      image = emptyImage(join(folder, name));
      stages[name] = image;
    } else STEPS[instruction]?.(image, given, stages);
  }
  return image;
}

function emptyImage(root: string): Image {
  mkdirSync(root, { recursive: true });
  return { root, env: {}, labels: {}, command: [], user: '0:0', workdir: '/' };
}

/** Without comments, with continued lines joined. */
function instructions(): [instruction: string, given: string][] {
  const text = readFileSync('Dockerfile', 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/ *\\\n\s*/g, ' ');
  return [...text.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, instruction = '', given = '']) => [instruction, given]);
}

type Step = (image: Image, given: string, stages: Record<string, Image>) => void;

const STEPS: Record<string, Step> = {
  WORKDIR(image, given) {
    image.workdir = given;
    mkdirSync(join(image.root, given), { recursive: true });
  },
  COPY(image, given, stages) {
    const [, stage, paths = given] = /^--from=(\w+) (.*)$/.exec(given) ?? [];
    const sources = paths.split(' ');
    const target = sources.pop() as string;
    for (const source of sources) {
      const from = stage ? join((stages[stage] as Image).root, source) : resolve(source);
      const to = join(image.root, image.workdir, target.endsWith('/') ? join(target, source) : target);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    }
  },
  /** The only path outside of the working directory that a command names is /data. */
  RUN({ root, workdir }, given) {
    const command = given.replaceAll('/data', join(root, 'data')).replace('=node --group=node', '=1000 --group=1000');
    execFileSync('sh', ['-e', '-c', command], { cwd: join(root, workdir), stdio: ['ignore', 'inherit', 'inherit'] });
  },
  ENV: (image, given) => Object.assign(image.env, pairs(given)),
  LABEL: (image, given) => Object.assign(image.labels, pairs(given)),
  CMD(image, given) {
    image.command = JSON.parse(given);
  },
  USER(image, given) {
    image.user = given;
  },
};

function pairs(given: string): Record<string, string> {
  const found = [...given.matchAll(/([\w.]+)=("[^"]*"|\S+)/g)];
  return Object.fromEntries(found.map(([, name, value = '']) => [name, value.replaceAll('"', '')]));
}

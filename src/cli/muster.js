#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * The command `muster`. The machine may have any Node.js: one that is older than 24 cannot run TypeScript, so it hands
 * over to the Node.js that comes with the packages.
 *
 * Guarantee: signals and the exit code pass through, as if there were only one process.
 */

const NEEDED = 24;
const version = Number(process.versions.node.split('.')[0]);
const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const node = pathOf('../../node_modules/node/bin/node');

if (!existsSync(pathOf('../../node_modules/yargs'))) {
  refuse(`The packages of muster are not installed: run \`npm ci\` in ${pathOf('../..')}`);
} else if (version >= NEEDED) {
  // Halves the start-up time; where the folder is not writable, there is no cache.
  module.enableCompileCache(pathOf('../../node_modules/.cache/node'));
  await import('./main.ts');
} else if (existsSync(node)) {
  handOver();
} else {
  refuse(`muster needs Node.js ${NEEDED} or newer. This is ${process.version}, and \`npm ci\` has installed no other.`);
}

function refuse(why) {
  console.error(why);
  process.exitCode = 2;
}

function handOver() {
  const child = spawn(node, [pathOf('./muster.js'), ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both processes; receiving it twice is harmless.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

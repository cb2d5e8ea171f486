#!/usr/bin/env node
/**
 * The command `muster`, started by whatever Node.js the machine has: hands over to the one that comes with the packages,
 * as TypeScript runs from version 24 on.
 *
 * Guarantee: signals and the exit code go through, as if there were one process only.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;
const version = Number(process.versions.node.split('.')[0]);
const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const node = pathOf('../../node_modules/node/bin/node');

if (!existsSync(pathOf('../../node_modules/yargs'))) {
  refuse(`The packages of muster are not there: run \`npm ci\` in ${pathOf('../..')}`);
} else if (version >= NEEDED) {
  // Halves the time to start. Where it cannot be written there is none.
  module.enableCompileCache(pathOf('../../node_modules/.cache/node'));
  await import('./main.ts');
} else if (existsSync(node)) {
  handOver();
} else {
  refuse(`muster needs Node.js ${NEEDED} or newer; this is ${process.version}, and \`npm ci\` has brought no other.`);
}

function refuse(why) {
  console.error(why);
  process.exitCode = 2;
}

function handOver() {
  const child = spawn(node, [pathOf('./muster.js'), ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; that it comes twice does no harm.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

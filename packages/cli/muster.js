#!/usr/bin/env node
/** The command `muster` of the package muster-cli. */
const OLDEST = 22;

if (Number(process.versions.node.split('.')[0]) >= OLDEST) {
  await import('./src/cli/main.js');
} else {
  console.error(`muster needs Node.js ${OLDEST} or newer. This is ${process.version}.`);
  process.exitCode = 2;
}

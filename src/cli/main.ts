/** The process `muster`. */
import { hideBin } from 'yargs/helpers';
import { run } from './run.ts';
import { EXIT } from './terminal/failure.ts';

const code = await run(hideBin(process.argv), process);
// After Ctrl-C nothing is waited for, such as the end of standard input.
if (code === EXIT.interrupted) process.exit(code);
process.exitCode = code;

/** The process `muster`. */
import { hideBin } from 'yargs/helpers';
import { run } from './run.ts';

process.exitCode = await run(hideBin(process.argv), process);

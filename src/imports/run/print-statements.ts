/** `npm run schema`: writes the rendered statements of write-batch.ts, for review. */
import { writeFile } from 'node:fs/promises';
import { describeStatements } from './write-batch.ts';

await writeFile(new URL('./batch-statements.sql', import.meta.url), describeStatements());

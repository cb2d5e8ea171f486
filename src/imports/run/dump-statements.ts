/** `npm run schema`: writes the rendered batch statements beside schema.sql. */
import { writeFile } from 'node:fs/promises';
import { describeStatements } from './describe-statements.ts';

await writeFile(new URL('../../db/batch-statements.sql', import.meta.url), describeStatements());

import type { ErrorCase } from '../../contract/errors.ts';
import { OUTLINE } from '../../contract/outline.ts';
import { editsBetween } from '../../platform/text/edits.ts';
import { command } from '../command.ts';
import { type Failure, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** `muster explain`: what an error id of the service means. Calls no service, and needs no login. */
export const explain = command({
  usage: 'explain <id>',
  describe: 'explain an error id of the service: what happened, and what to do',
  options: { id: { type: 'string', demandOption: true, describe: 'id of the error, such as UPLOAD-SPACE' } },
  examples: [
    ['$0 explain UPLOAD-SPACE', 'what happened, what to do, and which operations answer it'],
    ['$0 explain IMPORT-STATE --json | jq -r .operations[].path', 'for scripts: the calls that answer it'],
  ],
  async run({ out }, { id: given }) {
    const id = given.trim().toUpperCase();
    const { explanationOf, IDS } = await explanations();
    const found = explanationOf(id);
    if (found === undefined) throw unknown(given, id, IDS);
    out.result(found);
    show(out, found);
  },
});

interface Explanation {
  id: string;
  /** One for each status, the usual one first. */
  cases: (Pick<ErrorCase, 'status' | 'meaning' | 'remedy'> & { httpStatus: number })[];
  since: string;
  /** What answers it, where that is not a list of operations. */
  answeredBy: string | undefined;
  operations: { id: string; path: string }[];
  /** What else has it as its error: `user`, a user of an import, or `draft`. */
  storedWith: 'user' | 'draft' | undefined;
}

/** Loaded only when needed: other commands should start fast. */
async function explanations() {
  const [{ casesOf, ERRORS, isErrorId, sinceOf }, { ANSWERED_BY }] = await Promise.all([
    import('../../contract/errors.ts'),
    import('../../contract/answered-by.ts'),
  ]);
  function explanationOf(id: string): Explanation | undefined {
    if (!isErrorId(id)) return undefined;
    const answered: string | readonly string[] = ANSWERED_BY[id];
    const names = typeof answered === 'string' ? [] : (answered as readonly (keyof typeof OUTLINE)[]);
    return {
      id,
      cases: casesOf(id).map(({ http, ...rest }) => ({ httpStatus: http, ...rest })),
      since: sinceOf(id),
      answeredBy: typeof answered === 'string' ? answered : undefined,
      operations: names.map((name) => ({ id: name, path: OUTLINE[name].path })),
      storedWith: storedWith(id),
    };
  }
  const storedWith = (id: keyof typeof ERRORS) => (ERRORS[id] as { stored?: 'user' | 'draft' }).stored;
  return { explanationOf, IDS: Object.keys(ERRORS) };
}

const STORED = { user: 'with a user of an import', draft: 'with a draft' } as const;

function show(out: Output, { id, cases, since, answeredBy, operations, storedWith }: Explanation): void {
  for (const { httpStatus, status, meaning, remedy } of cases) {
    out.line(`${id}: ${httpStatus} ${status}`);
    out.line(`  ${meaning}`);
    out.line(`  ${remedy}`);
  }
  out.line();
  if (answeredBy) out.line(`Answered by ${answeredBy}.`);
  if (operations.length > 0) out.line('Answered by:');
  for (const { id: name, path } of operations) out.line(`  ${name}: ${path}`);
  if (storedWith) out.line(`Stored ${STORED[storedWith]}.`);
  out.line(`Since version ${since}.`);
}

const MOST = 3;

/** With the ids that may be meant: those that contain it, and those with a typing error or two. */
function unknown(given: string, id: string, ids: readonly string[]): Failure {
  const most = Math.max(2, Math.floor(id.length / 5));
  const near = ids
    .map((known) => ({ known, edits: id.length > 3 && known.includes(id) ? 0 : editsBetween(id, known) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, MOST)
    .map(({ known }) => known);
  const advice = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'docs/errors.md lists every id.';
  return wrongUsage(`There is no error ${given}.`, advice);
}

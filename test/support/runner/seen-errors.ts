/**
 * Compares the errors that tests have seen (collect-errors.ts) with those that the operations list.
 *
 * An error that an operation answers and does not list is a problem of every run; one that is listed and that no test
 * has seen is a problem of a whole run.
 */
import { errorsOf, generalErrorsOf, statusesOf } from '../../../src/contract/error-answers.ts';
import { ERRORS } from '../../../src/contract/errors.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import type { ErrorId } from '../../../src/platform/errors.ts';

/** What no test sees, with the reason: `<operation> <id>`. */
export const UNSEEN: Readonly<Record<string, string>> = {};

/** `GET /v2beta/users/:userId` of each operation. */
const BY_ROUTE = new Map(OPERATIONS.map((operation) => [operation.path.replace(/\{(\w+)\}/g, ':$1'), operation]));

/** @param text lines of `<method> <path of the route> <id> <HTTP status>` */
export function problemsOf(text: string, { isWhole }: { isWhole: boolean }): string[] {
  const answers = [...new Set(text.split('\n'))].filter(Boolean).map(answerOf);
  const seen = new Set(answers.map(({ operation, id }) => `${operation?.id} ${id}`));
  return [...answers.flatMap(unlisted), ...(isWhole ? unseen(seen) : [])];
}

function answerOf(line: string) {
  const [method, route, id, http] = line.split(' ') as [string, string, string, string];
  const operation = BY_ROUTE.get(`${method} ${route}`) ?? BY_ROUTE.get(`${method.replace('HEAD', 'GET')} ${route}`);
  return { operation, id: id as ErrorId, http: Number(http) };
}

function unlisted({ operation, id, http }: ReturnType<typeof answerOf>): string[] {
  // Of the OAuth endpoints, as RFC 6749 has them.
  if (!Object.hasOwn(ERRORS, id)) return /^[a-z_]+$/.test(id) ? [] : [`${id} is not in src/contract/errors.ts.`];
  if (!statusesOf(id).includes(http)) return [`${id} was answered with ${http}, which src/contract/errors.ts has not.`];
  if (!operation || generalErrorsOf(operation).includes(id)) return [];
  const isListed = errorsOf(operation).some((error) => error.id === id && error.http === http);
  return isListed ? [] : [`${operation.id} answered ${http} ${id}, which its \`errors\` do not list.`];
}

function unseen(seen: ReadonlySet<string>): string[] {
  const listed = OPERATIONS.flatMap((operation) => errorsOf(operation).map(({ id }) => `${operation.id} ${id}`));
  const missing = listed.filter((one) => !seen.has(one) && !(one in UNSEEN));
  const stale = Object.keys(UNSEEN).filter((one) => seen.has(one) || !listed.includes(one));
  return [
    ...missing.map((one) => `No test has seen ${one.replace(' ', ' answer ')}: write one, or list it no more.`),
    ...stale.map((one) => `UNSEEN has ${one}, which a test sees, or which is not listed.`),
  ];
}

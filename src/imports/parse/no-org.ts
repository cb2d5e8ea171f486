/** What is wrong with a line that names no organization: often it is not a line of users at all, and its fields show it. */

const FIELDS = new Set(['userId', 'user_id', 'state', 'user']);
const DOCUMENT = ['dataOrgs', 'data_orgs'];
/** Unknown fields that an error names, and how much of each. */
const MOST_NAMED = 10;
const MOST_CHARACTERS = 100;

/**
 * What follows `Line 1: `.
 *
 * @param id the `orgId` of the line, which is not a string
 * @param entry its other fields
 */
export function noOrg(id: unknown, entry: object): string {
  const others = Object.keys(entry).filter((name) => !FIELDS.has(name));
  if (others.some((name) => DOCUMENT.includes(name)))
    return 'the line is a whole body with dataOrgs. Send it with Content-Type: application/json.';
  if (id !== undefined && id !== null) return 'orgId must be a string.';
  const named = others.slice(0, MOST_NAMED).map((name) => `"${name.slice(0, MOST_CHARACTERS).toWellFormed()}"`);
  return named.length === 0 ? 'orgId is required.' : `orgId is required; not known: ${named.join(', ')}.`;
}

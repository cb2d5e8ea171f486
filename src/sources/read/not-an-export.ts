/** Files that are often taken for an export, and what to do instead. Read as CSV, they would only confuse. */

/** What a failed download leaves: a page of the login, or an error in XML. */
const MARKUP = /^\s*<(?:!doctype|html|head|body|script|!--|\?xml)\b/i;
const SQLITE = 'SQLite format 3\0';
/** A zip archive, which a spreadsheet is too. */
const ZIP = 'PK\x03\x04';
/** Comments and blank lines, then a statement. A header of a CSV may begin with such a word, but not with two. */
const COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/;?)+/;
const STATEMENT =
  /^(?:create (?:table|database|schema|extension|type|sequence)\b|drop (?:table|database)\b|insert into\b|set [@\w.]+ ?=|lock tables\b|start transaction\b|begin(?: transaction)?;|pragma \w+|use `)/i;

/** A sentence for a file that is certainly no export. @param head the beginning of the file */
export function notAnExport(head: string): string | undefined {
  if (MARKUP.test(head))
    return 'This is a web page or XML, not an export. It may be the login page of the old system: download the file again.';
  if (head.startsWith(SQLITE))
    return "This is an SQLite database. Export its table of users: sqlite3 -json FILE 'select * from users' > users.json";
  if (head.startsWith(ZIP))
    return 'This is a zip archive or a spreadsheet. Unpack it, or save the sheet as CSV (UTF-8).';
  if (STATEMENT.test(head.replace(COMMENTS, '')))
    return 'This is an SQL dump. Load it into a database, and use muster pull sql, or export the table of users as CSV or JSON.';
  return undefined;
}

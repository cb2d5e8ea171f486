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

const PDF = '%PDF-';
/** More control characters than that among the first ones: text has next to none. */
const MOST_CONTROLS = 0.05;

/** A sentence for a file that is certainly no export. @param head the beginning of the file */
export function notAnExport(head: string): string | undefined {
  if (MARKUP.test(head))
    return 'This is a web page or XML, not an export. It may be the login page of the old system: download the file again.';
  if (head.startsWith(SQLITE))
    return "This is an SQLite database. Export its table of users: sqlite3 -json FILE 'select * from users' > users.json";
  if (head.startsWith(ZIP))
    return 'This is a zip archive or a spreadsheet. Unpack it, or save the sheet as CSV (UTF-8).';
  if (head.startsWith(PDF)) return 'This is a PDF, not an export. Export the users as CSV or JSON.';
  if (isBinary(head))
    return 'This is not text: it may be a spreadsheet, an image, or in an unknown encoding. Save it as CSV or JSON in UTF-8.';
  if (STATEMENT.test(head.replace(COMMENTS, '')))
    return 'This is an SQL dump. Load it into a database, and use muster pull sql, or export the table of users as CSV or JSON.';
  return undefined;
}

/** Whether it has many control characters other than tab and the ends of lines and pages. */
function isBinary(head: string): boolean {
  let controls = 0;
  for (let i = 0; i < head.length; i++) {
    const code = head.charCodeAt(i);
    if (code < 0x09 || (code > 0x0d && code < 0x20)) controls++;
  }
  return controls > head.length * MOST_CONTROLS;
}

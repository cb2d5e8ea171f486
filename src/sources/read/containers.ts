/**
 * Exports in other containers than JSON and CSV, rewritten while they are read: YAML as JSON, htpasswd and the CSV of
 * Excel and MySQL as plain CSV. Names the containers that are not read, and how to convert them.
 *
 * Guarantee: every line stays where it is, so that problems are reported with their places.
 */
import { MAX_RECORD_BYTES } from './records.ts';
import { yamlAsJson } from './yaml.ts';

/** What a file is besides its format. */
export interface Container {
  /** As people call it: `YAML`. */
  title?: string;
  format?: 'json' | 'csv';
  delimiter?: string;
  /** Names of the columns, which the file does not have. */
  columns?: readonly string[];
  rewrite(text: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/**
 * The container that the beginning shows; undefined for plain JSON, CSV and the like.
 * @param head the beginning of the file, as UTF-8
 * @param isWhole the file is complete, so that YAML can be checked
 */
export function containerOf(head: string, isWhole: boolean): Container | undefined {
  if (isYaml(head)) return { title: 'YAML', format: 'json', rewrite: (text) => yamlAsJson(text, isWhole) };
  if (isHtpasswd(head)) {
    const columns = ['username', 'password_hash'];
    return {
      title: 'htpasswd',
      format: 'csv',
      delimiter: ':',
      columns,
      rewrite: byLines((line) => withoutNotes(line)),
    };
  }
  if (isBackslashed(head)) return { rewrite: byLines(withDoubledQuotes) };
  return OF_EXCEL.test(head) ? { rewrite: byLines(withoutFormulas) } : undefined;
}

const COMMENTS = /^(?:\s*#.*\r?\n|\s*\r?\n)+/;
const KEY = '(?:[\\w.@/+-]+|"[^"\\n]*"|\'[^\'\\n]*\')';
/** A mark, a key over indented lines, or a list of objects. */
const YAML = new RegExp(
  `^(?:%YAML |---[ \\t]*(?:#.*)?\\r?\\n|${KEY}:[ \\t]*(?:#.*)?\\r?\\n(?:[ \\t]*(?:#.*)?\\r?\\n)*(?:[ \\t]+\\S|- )|` +
    `-(?: +&\\S+)?(?: +|[ \\t]*\\r?\\n[ \\t]+)(?:${KEY}:(?:[ \\t]|\\r?\\n)|\\{))`,
);

function isYaml(head: string): boolean {
  return YAML.test(head.replace(COMMENTS, ''));
}

/** A name, a colon, and what `htpasswd` writes; nothing but that in any line. */
const ENTRY =
  /^[^:\s,;"]{1,255}:(?:\$(?:apr1|1|2[abxy]?|5|6|argon2\w*|y)\$[^:\s]+|\{S?SHA\d*\}[\w+/=]+|[\w./]{13})\s*$/;

function isHtpasswd(head: string): boolean {
  const lines = head
    .split('\n', 100)
    .slice(0, head.split('\n', 101).length > 100 ? 100 : undefined)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  // The beginning may end inside of a line.
  const whole = head.endsWith('\n') || lines.length < 2 ? lines : lines.slice(0, -1);
  return whole.length > 0 && whole.every((line) => ENTRY.test(line));
}

function withoutNotes(line: string): string {
  return line.replace(/^#.*$/gm, '');
}

/** `\"` inside of a cell, and no doubled quote, which all other programs write. */
function isBackslashed(head: string): boolean {
  return /[^\\]\\"[^",;\t|\r\n]/.test(head) && !/[^,;\t|\r\n\\]""[^,;\t|\r\n]/.test(head) && !/^\s*[[{]/.test(head);
}

const ESCAPED: Readonly<Record<string, string>> = {
  '"': '""',
  N: '\\N',
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  '0': '\0',
};

/** As MySQL writes them: https://dev.mysql.com/doc/refman/8.4/en/load-data.html#load-data-field-line-handling */
function withDoubledQuotes(lines: string): string {
  return lines.replace(/\\([\s\S])/g, (_, sign: string) => ESCAPED[sign] ?? sign);
}

/** Excel's way to keep digits as they are: `="00491"`. */
const OF_EXCEL = /(^|[,;\t|\n])="([^"\n]*)"(?=[,;\t|\r\n]|$)/;
const EACH_OF_EXCEL = new RegExp(OF_EXCEL, 'g');

function withoutFormulas(lines: string): string {
  return lines.replace(EACH_OF_EXCEL, '$1"$2"');
}

/** Rewrites whole lines. The signs are ASCII, so the bytes of other characters pass through. */
function byLines(rewrite: (lines: string) => string): Container['rewrite'] {
  return async function* (text) {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of text) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf('\n') + 1;
      // A line that is too long is the reader's to refuse.
      const cut = end === 0 && bytes.length > MAX_RECORD_BYTES ? bytes.length : end;
      rest = bytes.subarray(cut);
      if (cut > 0) yield Buffer.from(rewrite(bytes.toString('latin1', 0, cut)), 'latin1');
    }
    if (rest.length > 0) yield Buffer.from(rewrite(rest.toString('latin1')), 'latin1');
  };
}

/** What begins a file that is certainly no export but is often taken for one, and a sentence for it. */
const SIGNATURES: readonly (readonly [signature: string, sentence: string])[] = [
  [
    'SQLite format 3\0',
    "This is an SQLite database. Export its table of users: sqlite3 -json FILE 'select * from users' > users.json",
  ],
  [
    'PK\x03\x04',
    'This is a zip archive or a spreadsheet of another program than Excel, or cut off. Unpack it, or save the sheet as XLSX or CSV (UTF-8).',
  ],
  [
    '\xd0\xcf\x11\xe0',
    'This is a spreadsheet of an old Excel, or one with a password. Save it as XLSX without a password, or as CSV (UTF-8).',
  ],
  ['%PDF-', 'This is a PDF, not an export. Export the users as CSV or JSON.'],
  ['BZh', 'This is compressed with bzip2. Unpack it with bunzip2 first.'],
  ['\xfd7zXZ\0', 'This is compressed with xz. Unpack it with unxz first.'],
  ['(\xb5/\xfd', 'This is compressed with Zstandard. Unpack it with unzstd first.'],
  ['7z\xbc\xaf\x27\x1c', 'This is a 7-Zip archive. Unpack it first.'],
  ['PAR1', 'This is Parquet. Convert it to JSON, for example with DuckDB.'],
  ['Obj\x01', 'This is Avro. Convert it to JSON: avro-tools tojson FILE > users.json'],
  [
    'PGDMP',
    'This is a dump of pg_dump. Load it into a database, and use muster pull sql, or export the table of users.',
  ],
];

/** The name of a part of every spreadsheet with a password, which looks like one of an old Excel. */
const ENCRYPTED = Buffer.from('EncryptedPackage', 'utf16le');

/** A sentence for a file whose first bytes say that it is no export. */
export function problemOfBytes(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 512);
  if (head.startsWith('\xd0\xcf\x11\xe0') && bytes.includes(ENCRYPTED))
    return 'This is a spreadsheet with a password. Save it without the password, or save the sheet as CSV (UTF-8).';
  if (head.startsWith('ustar', 257)) return 'This is a tar archive. Unpack it first.';
  return SIGNATURES.find(([signature]) => head.startsWith(signature))?.[1];
}

/** What a failed download leaves: a page of the login, or an error in XML. */
const PAGE = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*<(?:!doctype html|html|head|body|script|error)\b/i;
const XML = /^\s*<(?:\?xml\b|!--|!doctype\b|[a-z][\w.:-]*[\s>/])/i;
/** Comments and blank lines, then a statement. A header of a CSV may begin with such a word, but not with two. */
const SQL_COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/;?)+/;
const STATEMENT =
  /^(?:create (?:table|database|schema|extension|type|sequence)\b|drop (?:table|database)\b|insert into\b|set [@\w.]+ ?=|lock tables\b|start transaction\b|begin(?: transaction)?;|pragma \w+|use `)/i;
/** A section, then a key with a value. */
const TOML = /^(?:\s*(?:[#;].*)?\r?\n)*\s*\[\[?[^[\]{}",\n]+\]?\](?:\s*(?:[#;].*)?\r?\n)+\s*[\w."' -]+=/;
const SHADOW = /^(?:[^:\s]+:[^:\s]*(?::\d*){6}:[^:\s]*\r?\n)/;
const PASSWD = /^(?:[^:\s]+:[^:\s]*:\d+:\d+:[^:\n]*:[^:\n]*:[^:\n]*\r?\n)/;
const HTDIGEST = /^(?:[^:\s]+:[^:\n]+:[0-9a-f]{32}\s*\n)/;

/** Forms of text that are not read, each with how to convert it. */
const FORMS: readonly (readonly [form: RegExp, sentence: string])[] = [
  [
    PAGE,
    'This is a web page or XML, not an export. It may be the login page of the old system: download the file again.',
  ],
  [XML, 'This is XML, which is not read. Convert it to JSON: yq -p xml -o json FILE > users.json'],
  [TOML, 'This is TOML or INI, which is not read. Convert it to JSON: yq -p toml -o json FILE > users.json'],
  [
    SHADOW,
    'This is a file like /etc/shadow, which is not read. Convert its users with a password: (echo username,hash; awk -F: \'$2 ~ /^[$_]/ {print $1 "," $2}\' FILE) > users.csv',
  ],
  [
    PASSWD,
    'This is a file like /etc/passwd, which has no passwords. The hashes are in /etc/shadow, if they are there.',
  ],
  [HTDIGEST, 'This is a file of htdigest, whose hashes depend on a realm and cannot be verified.'],
];

/** A sentence for a page of a browser or another file in XML, whatever format somebody names. */
export function problemOfPage(head: string): string | undefined {
  return FORMS.slice(0, 2).find(([pattern]) => pattern.test(head))?.[1];
}

/**
 * A sentence for a file that is certainly no export but is often taken for one; read as CSV, it would only confuse.
 * @param head the beginning of the file, as UTF-8
 */
export function problemOfText(head: string): string | undefined {
  const form = FORMS.find(([pattern]) => pattern.test(head));
  if (form) return form[1];
  if (STATEMENT.test(head.replace(SQL_COMMENTS, '')))
    return 'This is an SQL dump. Load it into a database, and use muster pull sql, or export the table of users as CSV or JSON.';
  return undefined;
}

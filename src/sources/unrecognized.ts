/** Why no system recognizes a file, where the file itself is the reason. */
import { type ExportFile, placed, readerOf } from './read/export-file.ts';
import { FileError } from './read/records.ts';
import { isFields, parseJson } from './values.ts';

/** What an API answers instead of users. */
const ERROR_FIELDS = new Set(
  [
    ...['error', 'errors', 'error_code', 'error_description', 'error_uri', 'message', 'msg', 'detail', 'details'],
    ...['code', 'status', 'statusCode', 'title', 'type', 'path', 'timestamp', 'success', 'request_id', 'requestId'],
  ].map((name) => name.toLowerCase()),
);
const TOLD = ['error', 'errors', 'message', 'msg', 'detail'];

/** A sentence with the file's name, and the line where there is one; undefined if the file could be an export. */
export async function whyUnrecognized(file: ExportFile): Promise<string | undefined> {
  const { name, head, isWhole } = file;
  if (!isWhole) return undefined;
  const text = head.toString('utf8').trim();
  if (text === '' || text === '\u{feff}') return `${name} is empty.`;
  const value = parseJson(text);
  if (value !== undefined) return ofJson(name, value);
  if (file.format !== 'csv' && file.format !== 'ldif') return undefined;
  return ofRecords(file);
}

function ofJson(name: string, value: unknown): string | undefined {
  if (!isFields(value) && !Array.isArray(value)) return `${name} is a single value, not a list of users.`;
  if (Object.keys(value).length === 0) return `${name} has no users.`;
  const fields = Object.keys(value);
  const isError = !Array.isArray(value) && fields.every((field) => ERROR_FIELDS.has(field.toLowerCase()));
  if (!isError || !fields.some((field) => TOLD.includes(field))) return undefined;
  return `${name} is the answer of an API that failed, not an export. Correct the request, and download the users again.`;
}

/** The first problem of its records, or that there are none. */
async function ofRecords(file: ExportFile): Promise<string | undefined> {
  const { name, format, delimiter, head } = file;
  let count = 0;
  try {
    for await (const group of readerOf(format, [], { delimiter })(once(head))) {
      for (const { line, problem } of group) {
        if (problem !== undefined) return `${name}, line ${line}: The record ${problem}.`;
        count++;
      }
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return (placed(name, error) as FileError).message;
  }
  if (count > 0) return undefined;
  return format === 'csv' ? `${name} has a header, but no users.` : `${name} has no entries.`;
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

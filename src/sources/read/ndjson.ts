/** Reads one JSON value per line. A broken line is a broken record; reading continues with the next one. */
import { isUtf8 } from 'node:buffer';
import { Lines } from '../../platform/text/lines.ts';
import { parseJson } from '../values.ts';
import { FileError, type FileRecord, MAX_RECORD_BYTES, type Records } from './records.ts';

export async function* ndjsonRecords(chunks: AsyncIterable<Buffer>): Records {
  const lines = new Lines();
  for await (const chunk of chunks) {
    const records: FileRecord[] = [];
    for (const line of lines.push(chunk)) records.push(record(line, lines.number));
    const { number, bytes } = lines.unfinished;
    if (bytes > MAX_RECORD_BYTES) throw new FileError(`A line is longer than ${MAX_RECORD_BYTES} bytes.`, number);
    if (records.length > 0) yield records;
  }
  for (const line of lines.rest()) yield [record(line, lines.number)];
}

function record(bytes: Buffer, line: number): FileRecord {
  if (!isUtf8(bytes)) return { line, value: undefined, problem: 'is not valid UTF-8' };
  const value = parseJson(bytes.toString('utf8'));
  return value === undefined ? { line, value, problem: 'is not valid JSON' } : { line, value };
}

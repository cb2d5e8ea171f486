/** How the command line handles text: tables, names that would control a terminal, event streams. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { eventData } from '../../src/cli/service/events.ts';
import { jsonText, openOutput, printable, tableLines, width } from '../../src/cli/terminal/output.ts';

test('columns are as wide as their content appears', () => {
  const rows = [
    ['1', 'Zoë'],
    ['22', 'Zoe\u0308'],
    ['333', '張偉'],
    ['4', '🦊'],
  ];
  assert.deepEqual(tableLines(['ID', 'NAME', 'X'], [...rows.map((row) => [...row, '|'])]), [
    'ID   NAME  X',
    '1    Zoë   |',
    '22   Zoe\u0308   |',
    '333  張偉  |',
    '4    🦊    |',
  ]);
  assert.deepEqual(['', 'abc', 'e\u0301', '한국', 'ﾊ', 'Ａ'].map(width), [0, 3, 1, 4, 1, 2]);
});

test('a row with an empty last cell has no trailing spaces', () => {
  assert.deepEqual(tableLines(['A', 'B'], [['x', '']]), ['A  B', 'x']);
});

test('no printed text moves the cursor, ends a line or reverses its direction', () => {
  const evil = 'a\u0000\u001b[1A\r\n\t\u007f\u0085\u009b\u200f\u2028\u202e\u2066z';
  assert.equal(printable(evil), 'a\ufffd\ufffd[1A'.concat('\ufffd'.repeat(10), 'z'));
  assert.equal(printable('Zoë 張偉 🦊 ‍👩‍💻 नमस्ते'), 'Zoë 張偉 🦊 ‍👩‍💻 नमस्ते');
  assert.deepEqual(JSON.parse(jsonText({ [evil]: [evil] })), { [evil]: [evil] });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there
  assert.doesNotMatch(jsonText(evil), /[\x00-\x1f\x7f-\x9f\u200f\u2028\u202e\u2066]/);
});

test('lines of the result and notes keep line breaks and no other control characters', () => {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  const out = openOutput(false, { stdin: process.stdin, stdout, stderr: stdout });
  out.line('a\u001b[2J\nb');
  out.note('c\rd');
  out.table(['X'], [['e\nf']]);
  out.result({ not: 'shown' });
  assert.deepEqual(written, ['a\ufffd[2J\nb\n', 'c\ufffdd\n', 'X\n', 'e\ufffdf\n']);
});

const STREAM =
  ': a comment\n\ndata: one\n\nevent: x\nid: 1\ndata:two\r\ndata: more\r\n\r\ndata: é\r\rdata\n\ndata: cut off';

async function eventsOf(bytes: Uint8Array, size: number): Promise<string[]> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const events: string[] = [];
  for await (const data of eventData(pieces())) events.push(data);
  return events;
}

test('events are parsed as the standard says, wherever the network splits them', async () => {
  const bytes = Buffer.from(STREAM);
  for (let size = 1; size <= bytes.length; size++) {
    assert.deepEqual(await eventsOf(bytes, size), ['one', 'two\nmore', 'é'], `in pieces of ${size}`);
  }
});

test('a stream without a line ending is rejected', async () => {
  await assert.rejects(eventsOf(Buffer.alloc(5 * 1024 * 1024, 'x'), 65_536), /not an event stream/);
});

/**
 * The encodings of export files: which one a file has, and its text as UTF-8.
 *
 * Guarantee: no text is garbled without a word. Where the bytes alone decide, the encoding is called a guess, with those
 * that fit as well; characters that can hardly be text are counted (`charactersIn`) and noted for each record
 * (`isDoubtful`).
 */
import { isAscii, isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';

/** By their names in https://encoding.spec.whatwg.org, which has no name for three of the pages of DOS. */
export const ENCODINGS = [
  ...(['utf-8', 'utf-16le', 'utf-16be', 'windows-1250', 'windows-1251', 'windows-1252', 'windows-1253'] as const),
  ...(['windows-1254', 'windows-1255', 'windows-1256', 'windows-1257', 'windows-1258', 'windows-874'] as const),
  ...(['iso-8859-2', 'iso-8859-3', 'iso-8859-4', 'iso-8859-5', 'iso-8859-6', 'iso-8859-7', 'iso-8859-8'] as const),
  ...(['iso-8859-10', 'iso-8859-13', 'iso-8859-14', 'iso-8859-15', 'iso-8859-16', 'koi8-r', 'koi8-u'] as const),
  ...(['shift_jis', 'euc-jp', 'iso-2022-jp', 'gb18030', 'big5', 'euc-kr', 'macintosh', 'x-mac-cyrillic'] as const),
  ...(['ibm437', 'ibm850', 'ibm852', 'ibm866'] as const),
] as const;

export type Encoding = (typeof ENCODINGS)[number];

export interface DetectedEncoding {
  encoding: Encoding;
  /** For a guess by the frequency of bytes: the encodings that fit about as well and give another text. */
  alsoFits?: readonly Encoding[];
}

/**
 * A byte order mark decides, then UTF-8 that is valid, or nearly: single broken characters come from the old system.
 * Everything else is guessed.
 * @param sample bytes of the file, some of them not ASCII unless all are
 * @param isWhole `sample` is the whole file, so no character continues after it
 */
export async function detectEncoding(sample: Buffer, isWhole: boolean): Promise<DetectedEncoding> {
  const wide = wideOf(sample);
  if (wide) return { encoding: wide };
  if (isAscii(sample) && SHIFTS_OF_JIS.some((shift) => sample.includes(shift))) return { encoding: 'iso-2022-jp' };
  if (isUtf8(isWhole ? sample : withoutCutCharacter(sample)) || isNearlyUtf8(sample)) return { encoding: 'utf-8' };
  return guessed(foreignCells(sample));
}

function wideOf(head: Buffer): Encoding | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[1] === 0 && head[3] === 0 && head[0] !== 0) return 'utf-16le';
  return head[0] === 0 && head[2] === 0 && head[1] !== 0 ? 'utf-16be' : undefined;
}

/** The sequences of ISO-2022-JP that begin Japanese characters. */
const SHIFTS_OF_JIS = ['\u001b$B', '\u001b$@'];

/** Without the bytes of a character that continues after the sample. */
function withoutCutCharacter(head: Buffer): Buffer {
  let at = head.length;
  while (at > 0 && head.length - at < 4 && ((head[at - 1] as number) & 0xc0) === 0x80) at--;
  return at > 0 && (head[at - 1] as number) >= 0xc0 ? head.subarray(0, at - 1) : head;
}

const UTF8_SEQUENCE = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g;
/** Valid characters for each broken one. In other encodings few pairs of bytes look like UTF-8. */
const VALID_FOR_BROKEN = 4;

function isNearlyUtf8(sample: Buffer): boolean {
  const text = sample.toString('latin1');
  const valid = text.match(UTF8_SEQUENCE)?.length ?? 0;
  const broken = text.replace(UTF8_SEQUENCE, '').match(/[\x80-\xff]/g)?.length ?? 0;
  return valid >= VALID_FOR_BROKEN * broken;
}

const MOST_GUESSED = 2 ** 16;

/** The cells that are not ASCII. No character of several bytes has a byte of what separates cells, but for `|`. */
function foreignCells(sample: Buffer): Buffer {
  const cells = sample
    .toString('latin1')
    .split(/[\r\n\t,;"]/)
    .filter((cell) => /[\x80-\xff]/.test(cell));
  return Buffer.from(cells.join('\n'), 'latin1').subarray(0, MOST_GUESSED);
}

/** How near to the best another encoding must come to be named. */
const NEARLY_AS_GOOD = 0.5;
/** How near Windows-1252, the most common one, must come to be preferred where its text looks like words. */
const PREFERRED_FROM = 0.7;
const MOST_NAMED = 3;

/** Compares the frequency of bytes with those of texts in each language and encoding. */
async function guessed(cells: Buffer): Promise<DetectedEncoding> {
  // Its model takes 0.1 s to load, so only a file that needs it loads it.
  const { detectAll } = await import('jschardet');
  const found = new Map<Encoding, number>();
  for (const { encoding, confidence } of detectAll(cells, { minimumThreshold: 0 })) {
    const known = encoding ? encodingNamed(encoding) : undefined;
    if (known && !found.has(known)) found.set(known, confidence);
  }
  const [[first, most] = ['windows-1252' as Encoding, 0]] = found;
  const encoding = preferred(cells, found, most) ?? first;
  const texts = new Set([textOf(cells, encoding)]);
  const alsoFits: Encoding[] = [];
  for (const [other, confidence] of found) {
    const text = textOf(cells, other);
    if (confidence < NEARLY_AS_GOOD * most || texts.has(text) || alsoFits.length === MOST_NAMED) continue;
    texts.add(text);
    alsoFits.push(other);
  }
  return { encoding, alsoFits };
}

/** What the text says more clearly than the frequency of few bytes. @param most the confidence of the best encoding */
function preferred(cells: Buffer, found: ReadonlyMap<Encoding, number>, most: number): Encoding | undefined {
  const [best] = found.keys();
  const western = textOf(cells, 'windows-1252');
  if (best && textOf(cells, best) === western) return 'windows-1252';
  if ((found.get('windows-1252') ?? 0) >= PREFERRED_FROM * most && looksLikeWords(western)) return 'windows-1252';
  // The detection does not know the syllables that Windows added.
  if (isHangul(textOf(cells, 'euc-kr'))) return 'euc-kr';
  return (found.get('euc-jp') ?? 0) >= NEARLY_AS_GOOD * most && hasOnlyCommonKanji(cells) ? 'euc-jp' : undefined;
}

/** No signs inside of words, no capital between small letters, and no letters that only Iceland has, as Turkish would. */
function looksLikeWords(text: string): boolean {
  return !/[^\p{ASCII}\p{L}]|\p{Ll}\p{Lu}\p{Ll}|[þðÞÐ]/u.test(text);
}

function isHangul(text: string): boolean {
  return /\p{Script=Hangul}{2}/u.test(text) && !/(?!\p{Script=Hangul})\p{L}|\ufffd/u.test(text);
}

/** Kana, and kanji of the first level of JIS. A quarter of the common characters of GB 18030 are beyond these rows. */
function hasOnlyCommonKanji(cells: Buffer): boolean {
  const pairs = cells.toString('latin1').match(/[\x80-\xff]{2}/g) ?? [];
  return pairs.every((pair) => /^[\xa1\xa4\xa5\xb0-\xcf]/.test(pair));
}

/** Names of the detection and of programs that the specification does not have. */
const OTHER_NAMES: Readonly<Record<string, Encoding>> = {
  cp932: 'shift_jis',
  cp936: 'gb18030',
  gbk: 'gb18030',
  cp949: 'euc-kr',
  cp950: 'big5',
  cp874: 'windows-874',
  cp437: 'ibm437',
  cp850: 'ibm850',
  cp858: 'ibm850',
  cp852: 'ibm852',
  macroman: 'macintosh',
  maccyrillic: 'x-mac-cyrillic',
  'iso-8859-8-i': 'iso-8859-8',
  'utf-16': 'utf-16le',
};

/** The encoding of a name in any usual spelling, such as `Shift-JIS`, `cp1250` or `latin2`; undefined if unknown. */
export function encodingNamed(name: string): Encoding | undefined {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/^iso_?8859/, 'iso-8859');
  const known = ENCODINGS.find((encoding) => encoding === plain) ?? OTHER_NAMES[plain];
  if (known) return known;
  try {
    const standard = new TextDecoder(plain).encoding;
    return ENCODINGS.find((encoding) => encoding === standard) ?? OTHER_NAMES[standard];
  } catch {
    return undefined;
  }
}

interface Decoder {
  write(chunk: Buffer): string;
  end(): string | undefined;
}

/** The tables of Node.js lack characters in others: half of the Korean syllables of Windows, those of Hong Kong. */
const OF_NODE: readonly Encoding[] = ['utf-8', 'utf-16le', 'utf-16be', 'iso-2022-jp', 'macintosh', 'x-mac-cyrillic'];
const OF_ICONV: { [Name in Encoding]?: string } = { 'euc-kr': 'cp949', ibm437: 'cp437', ibm850: 'cp850' };

function decoderOf(encoding: Encoding): Decoder {
  if (!OF_NODE.includes(encoding)) return iconv.getDecoder(OF_ICONV[encoding] ?? encoding);
  const decoder = new TextDecoder(encoding);
  return { write: (chunk) => decoder.decode(chunk, { stream: true }), end: () => decoder.decode() };
}

function textOf(bytes: Buffer, encoding: Encoding): string {
  const decoder = decoderOf(encoding);
  return decoder.write(bytes) + (decoder.end() ?? '');
}

/**
 * The text as UTF-8 without a byte order mark. Text that already is UTF-8 is not validated here: the readers do that.
 */
export async function* toUtf8(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer> {
  if (encoding === 'utf-8') return yield* withoutMark(chunks);
  const decoder = decoderOf(encoding);
  for await (const chunk of chunks) yield Buffer.from(decoder.write(chunk));
  const last = decoder.end();
  if (last) yield Buffer.from(last);
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
    yield hasMark ? chunk.subarray(3) : chunk;
    isFirst = false;
  }
}

/**
 * What is hardly text: bytes without a character, controls of C1, private characters; and UTF-8 that was read as
 * Windows-1252 before it came here: `MÃ¼ller`.
 */
const DOUBTFUL = /[\ufffd\u0080-\u009f\ue000-\uf8ff]|[ÂÃ][\u0080-\u00bf\u0152-\u2122]|â€/g;

/** Whether a text has characters that may be garbled. */
export function isDoubtful(text: string): boolean {
  return text.search(DOUBTFUL) >= 0;
}

export interface Characters {
  /** That are not ASCII. */
  foreign: number;
  /** Of these, the ones that may be garbled. */
  doubtful: number;
}

export function charactersIn(text: string): Characters {
  return {
    foreign: text.match(/[^\p{ASCII}]/gu)?.length ?? 0,
    doubtful: text.match(DOUBTFUL)?.reduce((sum, found) => sum + found.length, 0) ?? 0,
  };
}

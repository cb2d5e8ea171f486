/** Encodings of export files: detected from a few names, decoded without losses, and never garbled without a word. */
import assert from 'node:assert/strict';
import test from 'node:test';
import iconv from 'iconv-lite';
import {
  charactersIn,
  type DetectedEncoding,
  detectEncoding,
  ENCODINGS,
  type Encoding,
  encodingNamed,
  isDoubtful,
  toUtf8,
} from '../../../src/sources/read/encoding.ts';

const JAPANESE = ['渡辺,さくら,名古屋', '鈴木,一郎,横浜市', 'タナカ,ケンジ,札幌', '髙橋,健,福岡'];
const POLISH = ['Kowalski,Stanisław,Kraków', 'Wiśniewska,Małgorzata,Gdańsk', 'Dąbrowska,Żaneta,Poznań'];
const RUSSIAN = ['Иванов,Алексей,Москва', 'Петрова,Наталья,Казань', 'Щукин,Эдуард,Тверь'];
const GERMAN = ['Müller,Jürgen,Köln', 'Groß,Käthe,Düsseldorf', 'Schröder,Jörg,Nürnberg'];
const FRENCH = ['Lefèvre,François,Besançon', 'Dupré,Hélène,Orléans'];
const LITHUANIAN = ['Kazlauskas,Žygimantas,Šiauliai', 'Petrauskienė,Eglė,Panevėžys'];

const PEOPLE: readonly (readonly [Encoding, readonly string[]])[] = [
  ['shift_jis', JAPANESE],
  ['euc-jp', JAPANESE.slice(0, 3)],
  ['gb18030', ['王,伟,北京', '李,娜,上海', '张,敏,广州', '刘,洋,深圳']],
  ['big5', ['陳,志明,台北', '林,淑芬,高雄', '黃,美玲,臺中']],
  ['euc-kr', ['김,민준,서울', '박,햬원,부산', '최,수빈,인천']],
  ['windows-1250', POLISH],
  ['iso-8859-2', POLISH],
  ['ibm852', POLISH],
  ['windows-1251', RUSSIAN],
  ['koi8-r', RUSSIAN.slice(0, 2)],
  ['iso-8859-5', RUSSIAN],
  ['ibm866', RUSSIAN],
  ['windows-1252', GERMAN],
  ['windows-1252', FRENCH],
  ['windows-1252', ['Núñez,José,Málaga', 'Muñoz,María,Cádiz']],
  ['windows-1252', ['Åkesson,Björn,Göteborg', 'Öberg,Märta,Malmö']],
  ['ibm850', GERMAN],
  ['macintosh', GERMAN],
  ['windows-1253', ['Παπαδόπουλος,Γιώργος,Αθήνα', 'Νικολάου,Μαρία,Θεσσαλονίκη']],
  ['windows-1254', ['Yılmaz,Ayşe,İstanbul', 'Şahin,Mehmet,Eskişehir']],
  ['windows-1255', ['כהן,יוסף,ירושלים', 'לוי,שרה,חיפה']],
  ['windows-1256', ['محمد,أحمد,القاهرة', 'علي,فاطمة,بغداد']],
  ['iso-8859-6', ['محمد,أحمد,القاهرة', 'علي,فاطمة,بغداد']],
  ['windows-1257', LITHUANIAN],
  ['iso-8859-4', LITHUANIAN],
  ['windows-874', ['สมชาย,ใจดี,กรุงเทพ', 'สุดา,รักไทย,เชียงใหม่']],
];

const HASH = '$2b$04$abcdefghijklmnopqrstuu';

function csvOf(people: readonly string[]): string {
  const rows = people.map((names, i) => `${i},p${i}@names.example,${names},true,${HASH}\r\n`);
  return `id,email,last_name,first_name,city,email_verified,password_hash\r\n${rows.join('')}`;
}

test('a few names are enough to detect their encoding, which is called a guess', async () => {
  for (const [encoding, people] of PEOPLE) {
    const text = csvOf(people);
    const bytes = iconv.encode(text, encoding === 'euc-kr' ? 'cp949' : encoding.replace(/^ibm(?!866)/, 'cp'));
    const found = await detectEncoding(bytes, true);
    assert.ok(found.alsoFits, `${encoding} is a guess`);
    assert.equal(await decoded(bytes, found.encoding), text, `${encoding} was taken for ${found.encoding}`);
    assert.equal(isDoubtful(text), false, encoding);
  }
});

test('another encoding that fits as well is named', async () => {
  const { encoding, alsoFits = [] } = await detectEncoding(iconv.encode(csvOf(JAPANESE.slice(1, 2)), 'euc-jp'), true);
  assert.ok([encoding, ...alsoFits].includes('euc-jp'), `${encoding} ${alsoFits}`);
});

test('a mark, wide characters, UTF-8 and the sequences of ISO-2022-JP are no guesses', async () => {
  const cases: [Buffer, boolean, Encoding][] = [
    [Buffer.from('\ufeffä', 'utf16le'), true, 'utf-16le'],
    [Buffer.from('abcd', 'utf16le'), true, 'utf-16le'],
    [Buffer.from('abcd', 'utf16le').swap16(), true, 'utf-16be'],
    [Buffer.from('Ž€𝄞').subarray(0, 8), false, 'utf-8'],
    [Buffer.from('plain'), true, 'utf-8'],
    [Buffer.from('M\xfc', 'latin1'), false, 'utf-8'],
    [Buffer.from('id,name\n1,\x1b$B;3ED\x1b(B\n', 'latin1'), true, 'iso-2022-jp'],
  ];
  for (const [bytes, isWhole, encoding] of cases) {
    assert.deepEqual(await detectEncoding(bytes, isWhole), { encoding } satisfies DetectedEncoding);
  }
  assert.equal((await detectEncoding(Buffer.from('M\xfcller,x', 'latin1'), true)).encoding, 'windows-1252');
  assert.equal((await detectEncoding(Buffer.from('M\xfc', 'latin1'), true)).encoding, 'windows-1252');
});

test('UTF-8 with single broken bytes stays UTF-8, and these bytes are doubtful', async () => {
  const bytes = Buffer.concat([Buffer.from('Gröger\nJörn\nWächter\nStrauß\n'), Buffer.from('K\xfchn', 'latin1')]);
  const { encoding } = await detectEncoding(bytes, true);
  assert.equal(encoding, 'utf-8');
  assert.deepEqual(charactersIn(bytes.toString('utf8')), { foreign: 5, doubtful: 1 });
  assert.equal(isDoubtful('MÃ¼ller'), true);
  assert.equal(isDoubtful('São Paulo, Ângela, Ãlvares, Łódź, 山田'), false);
});

test('every encoding decodes each character, wherever the file is cut', async () => {
  for (const encoding of ENCODINGS) {
    const mark = encoding.startsWith('utf-16') ? Buffer.from('\ufeffa', 'utf16le') : Buffer.from('a');
    assert.equal((await decoded(mark, encoding === 'utf-16be' ? 'utf-16le' : encoding)).length, 1, encoding);
  }
  const korean = '햏똠방각하 쀍뷁';
  assert.equal(await decoded(iconv.encode(korean, 'cp949'), 'euc-kr'), korean);
  const romanian = 'Țepeș Ștefănescu';
  assert.equal(await decoded(iconv.encode(romanian, 'iso-8859-16'), 'iso-8859-16'), romanian);
  assert.equal(await decoded(Buffer.from([0x80, 0x81]), 'windows-1252'), '€\ufffd');
});

test('an encoding has the names that programs give it', () => {
  const names: [string, Encoding | undefined][] = [
    ['Shift_JIS', 'shift_jis'],
    ['sjis', 'shift_jis'],
    ['cp932', 'shift_jis'],
    ['windows-31j', 'shift_jis'],
    ['GBK', 'gb18030'],
    ['gb2312', 'gb18030'],
    ['latin1', 'windows-1252'],
    ['ISO-8859-1', 'windows-1252'],
    ['iso8859-9', 'windows-1254'],
    ['latin2', 'iso-8859-2'],
    ['CP1251', 'windows-1251'],
    ['utf8', 'utf-8'],
    ['utf-16', 'utf-16le'],
    ['cp850', 'ibm850'],
    ['ks_c_5601-1987', 'euc-kr'],
    ['tis-620', 'windows-874'],
    ['iso-8859-16', 'iso-8859-16'],
    ['ebcdic', undefined],
  ];
  assert.deepEqual(
    names.map(([name]) => [name, encodingNamed(name)]),
    names,
  );
});

/** Cut after every third byte. */
async function decoded(bytes: Buffer, encoding: Encoding): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of toUtf8(cut(bytes), encoding)) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

async function* cut(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
}

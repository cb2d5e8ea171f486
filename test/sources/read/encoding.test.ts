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

/** Names, and their bytes as the codecs of Python 3.11 write them. */
const TEXTS: Readonly<Record<Encoding, readonly [text: string, bytes: string]>> = {
  'utf-8': ['Žofia Łęcka 渡辺 😀', 'c5bd6f66696120c581c499636b6120e6b8a1e8beba20f09f9880'],
  'utf-16le': ['Žofia 渡辺 😀', '7d016f006600690061002000216eba8f20003dd800de'],
  'utf-16be': ['Žofia 渡辺 😀', '017d006f00660069006100206e218fba0020d83dde00'],
  'windows-1250': [
    'Stanisław Dąbrowski, Győr, Šťáva',
    '5374616e6973b361772044b962726f77736b692c204779f5722c208a9de17661',
  ],
  'windows-1251': ['Щукин Эдуард, Її Ўладзімір', 'd9f3eae8ed20dde4f3e0f0e42c20afbf20a1ebe0e4e7b3ecb3f0'],
  'windows-1252': ['Œuvre François €, Žižka, Þór', '8c75767265204672616ee76f697320802c208e699e6b612c20def372'],
  'windows-1253': ['Παπαδόπουλος Γιώργος Άννα', 'd0e1f0e1e4fcf0eff5ebeff220c3e9fef1e3eff220a2edede1'],
  'windows-1254': ['Yılmaz Ayşe İstanbul Ğ', '59fd6c6d617a204179fe6520dd7374616e62756c20d0'],
  'windows-1255': ['כהן יוסף ₪', 'ebe4ef20e9e5f1f320a4'],
  'windows-1256': ['محمد أحمد پژمان چ', 'e3cde3cf20c3cde3cf20818ee3c7e4208d'],
  'windows-1257': [
    'Žygimantas Šiauliai Eglė Õun Ņina',
    'de7967696d616e74617320d06961756c6961692045676ceb20d5756e20d2696e61',
  ],
  'windows-1258': ['Nguyễn Đức', '4e677579eade6e20d0fdec63'],
  'windows-874': ['สมชาย ใจดี กรุงเทพ', 'cac1aad2c220e3a8b4d520a1c3d8a7e0b7be'],
  'iso-8859-2': ['Wiśniewska Małgorzata Çelik Őz', '5769b66e696577736b61204d61b3676f727a61746120c7656c696b20d57a'],
  'iso-8859-3': ['Ħamrun Ġorġ Żebbuġ Ĉefa ŝŭ', 'a1616d72756e20d56f72f520af65626275f520c665666120fefd'],
  'iso-8859-4': [
    'Kazlauskas Žygimantas Ģirts Āboliņš',
    '4b617a6c6175736b617320ae7967696d616e74617320ab6972747320c0626f6c69f1b9',
  ],
  'iso-8859-5': ['Иванов Алексей Ђорђе Љубав', 'b8d2d0ddded220b0dbd5dae1d5d920a2dee0f2d520a9e3d1d0d2'],
  'iso-8859-6': ['محمد أحمد القاهرة', 'e5cde5cf20c3cde5cf20c7e4e2c7e7d1c9'],
  'iso-8859-7': ['Νικολάου Μαρία €', 'cde9eaefebdceff520cce1f1dfe120a4'],
  'iso-8859-8': ['לוי שרה חיפה', 'ece5e920f9f8e420e7e9f4e4'],
  'iso-8859-10': [
    'Þórður Ŋorga Sámi Đakovo Įžuolas',
    'def372f0757220af6f7267612053e16d6920a9616b6f766f20c7bc756f6c6173',
  ],
  'iso-8859-13': [
    'Petrauskienė Eglė Panevėžys Łódź',
    '506574726175736b69656eeb2045676ceb2050616e6576ebfe797320d9f364ea',
  ],
  'iso-8859-14': ['Ŵyn Ŷnys Ḃláthnaid Ṡeán', 'd0796e20de6e797320a16ce174686e61696420bb65e16e'],
  'iso-8859-15': ['Œuvre Šárka €uro Žižka Ÿ', 'bc7576726520a6e1726b6120a475726f20b469b86b6120be'],
  'iso-8859-16': ['Țepeș Ștefănescu Őrs €', 'de657065ba20aa746566e36e6573637520d5727320a4'],
  'koi8-r': ['Петрова Наталья Ёж', 'f0c5d4d2cfd7c120eec1d4c1ccd8d120b3d6'],
  'koi8-u': ['Шевченко Їжак Ґалаґан Євген', 'fbc5d7dec5cecbcf20b7d6c1cb20bdc1ccc1adc1ce20b4d7c7c5ce'],
  shift_jis: ['髙橋 タナカ 名古屋 ｱ', 'eee08bb420835e8369834a2096bc8cc389ae20b1'],
  'euc-jp': ['渡辺 さくら ｱ', 'c5cfcad520a4b5a4afa4e9208eb1'],
  'iso-2022-jp': ['鈴木 一郎 横浜市', '1b24424e6b4c5a1b2842201b2442306c4f3a1b2842201b24423223494d3b541b2842'],
  gb18030: ['王伟 北京 㐂 €', 'cdf5ceb020b1b1bea9208139ef3120a2e3'],
  big5: ['陳志明 高雄 黃美玲', 'b3afa7d3a9fa20b0aab6af20b6c0acfcacc2'],
  'euc-kr': ['김민준 햬원 서울', 'b1e8b9cec1d820c185bff820bcadbfef'],
  macintosh: ['Müller Jürgen Œuvre ﬁ €', '4d9f6c6c6572204a9f7267656e20ce7576726520de20db'],
  'x-mac-cyrillic': ['Щукин Њего Ђ €', '99f3eae8ed20bee5e3ee20ab20ff'],
  ibm437: ['Müller Ñandú ½ π', '4d816c6c657220a5616e64a320ab20e3'],
  ibm850: ['Müller Ñandú Øre Þ', '4d816c6c657220a5616e64a3209d726520e8'],
  ibm852: ['Kowalski Stanisław Őz Šťáva', '4b6f77616c736b69205374616e6973886177208a7a20e69ca07661'],
  ibm866: ['Щукин Эдуард Ўладзь Її', '99e3aaa8ad209da4e3a0e0a420f6aba0a4a7ec20f4f5'],
};

test('every encoding decodes names in its languages, wherever the file is cut', async () => {
  for (const encoding of ENCODINGS) {
    const [text, bytes] = TEXTS[encoding];
    assert.equal(await decoded(Buffer.from(bytes, 'hex'), encoding), text, encoding);
    assert.equal(isDoubtful(text), false, encoding);
    assert.ok(charactersIn(text).foreign > 0, `${encoding} is not tried with ASCII alone`);
  }
});

test('every encoding decodes ASCII, and rare characters', async () => {
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
